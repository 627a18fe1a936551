// Purpose: the settings that the MEMTRACE_* variables select.
// Runs: once, in the constructor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/format/setting_values.h"

namespace memtrace::record {

// The smallest useful trace: its rings take 140 KiB, the names of a Python program take some hundred KiB.
inline constexpr std::uint64_t kLeastTrace = 1 << 20;

// The maximum of Settings::sample that the `process` event of a trace can hold.
inline constexpr std::uint64_t kMaxMean = ~std::uint32_t{0};

enum class Stacks : std::uint8_t { none, python, native, both };
// MEMTRACE_SHARED: whether traces are copied to the job's directory, as to a shared file system.
enum class Sharing : std::uint8_t { off, automatic, on };
enum class PhaseSource : std::uint8_t { automatic, marks, off };

struct Settings {
  std::size_t exact_min = 4096;
  std::size_t sample = 512 * 1024; // mean bytes of smaller blocks between two recorded ones; 0: none
  std::uint64_t max_trace = std::uint64_t{256} << 20;
  std::uint64_t max_node = std::uint64_t{4} << 30;
  std::uint64_t min_peak = format::kDefaultMinPeak;
  Stacks stacks = Stacks::both;
  PhaseSource phases = PhaseSource::automatic;
  Sharing sharing = Sharing::automatic;
  std::uint32_t copy_seconds = 0; // between two copies; 0: as format/shared_files.h says
  bool active = true;             // false for MEMTRACE=0 or a skipped program: disabled
  bool quiet = false;
  // MEMTRACE=armed: the process counts and keeps levels, and records from a call on. A level or a growth of
  // these bytes is a call, too; 0: it is not. `armed_stacks` becomes `stacks` then.
  bool armed = false;
  std::uint64_t arm_at = 0;
  std::uint64_t arm_growth = 0;
  Stacks armed_stacks = Stacks::both;
  bool counting = false; // heap blocks are counted, not recorded: MEMTRACE_MAX_NODE left no room for more
};

extern constinit Settings settings;

} // namespace memtrace::record
