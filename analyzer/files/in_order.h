// Purpose: works on several files at the same time, and takes the results in the order of the files.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace memtrace::files {

// Calls make(i) for each i below `count`, on as many threads as jobs() says, and take(i) for each in ascending
// order on the calling thread. A result waits for the results before it, so make() is at most twice as many
// calls ahead as there are threads. take(i) warns of what make(i) warned of, or throws what it threw.
void run_in_order(std::size_t count, const std::function<void(std::size_t)>& make,
                  const std::function<void(std::size_t)>& take);

// As above, with the result of make(i) for take(i, result).
template <class Result>
void in_order(std::size_t count, const std::function<Result(std::size_t)>& make,
              const std::function<void(std::size_t, Result)>& take) {
  std::vector<std::optional<Result>> results(count);
  run_in_order(
      count, [&](std::size_t i) { results[i].emplace(make(i)); },
      [&](std::size_t i) {
        Result result = *std::move(results[i]);
        results[i].reset();
        take(i, std::move(result));
      });
}

} // namespace memtrace::files
