// Purpose: what the MEMTRACE_* variables ask for.
// Runs: once, in the constructor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// A trace that says anything at all: its rings are 140 KiB, the names of a Python program some hundred.
inline constexpr std::uint64_t kLeastTrace = 1 << 20;

// Of Settings::sample: what a trace's `process` can say.
inline constexpr std::uint64_t kMaxMean = ~std::uint32_t{0};

enum class Stacks : std::uint8_t { none, python, native, both };
enum class PhaseSource : std::uint8_t { automatic, marks, off };

struct Settings {
  std::size_t exact_min = 4096;
  std::size_t sample = 512 * 1024; // bytes of smaller ones between two that are recorded, on average; 0: none
  std::uint64_t max_trace = std::uint64_t{256} << 20;
  std::uint64_t max_node = std::uint64_t{4} << 30;
  std::uint64_t min_peak = std::uint64_t{32} << 20;
  Stacks stacks = Stacks::both;
  PhaseSource phases = PhaseSource::automatic;
  bool active = true; // MEMTRACE=0, a skipped program: inert
  bool quiet = false;
  bool counting = false; // heap blocks are counted, not recorded: MEMTRACE_MAX_NODE left no room for more
};

extern constinit Settings settings;

} // namespace memtrace::record
