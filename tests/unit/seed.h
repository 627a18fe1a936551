// Purpose: the seed of a test that chooses at random. The test prints it, and MEMTRACE_TEST_SEED sets another.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace memtrace::tests {

inline std::uint64_t seed(std::uint64_t usual) {
  const char* const wanted = std::getenv("MEMTRACE_TEST_SEED");
  const std::uint64_t used = wanted != nullptr ? std::strtoull(wanted, nullptr, 0) : usual;
  std::printf("seed %llu; MEMTRACE_TEST_SEED sets another\n", static_cast<unsigned long long>(used));
  return used;
}

} // namespace memtrace::tests
