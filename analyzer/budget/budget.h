// Purpose: a memory budget, parsed from text such as "peak(host, tensor) <= 2GiB".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memtrace::budget {

enum class Quantity {
  peak,     // the highest point of a memory
  phase,    // the highest point in a phase
  leak,     // bytes that each step or event leaves behind
  findings, // the number of findings
};

struct MemoryBudget {
  Quantity quantity = Quantity::peak;
  std::string phase;           // of Quantity::phase: names of a path, joined by "/"
  std::string memory = "host"; // host, cuda:N
  std::string measure = "live";
  std::int64_t limit = 0; // bytes; of Quantity::findings, a number
  std::string text;       // in one form: "peak(host, tensor) <= 2.00 GiB"
};

// Returns the budget that `text` states. Throws UsageError that names `option`, the place and what is expected.
MemoryBudget parse_budget(const std::string& text, const std::string& option);

// Returns the expression of a budget without its limit: "phase(forward, host, live)".
std::string expression_of(const MemoryBudget& budget);

// Returns a limit or a figure for people: "2.00 GiB", or a number for Quantity::findings.
std::string figure_text(const MemoryBudget& budget, std::int64_t figure);

// Returns the bytes of "2GiB", "1.5G", "512M" or "0", or nullopt. Units are powers of 1024.
std::optional<std::int64_t> parse_size(std::string_view text);

} // namespace memtrace::budget
