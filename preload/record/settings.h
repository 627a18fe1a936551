// Room: record. Read once, in the constructor.
// Job: what the MEMTRACE_* variables ask for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// A trace that says anything at all: its rings are 140 KiB, the names of a Python program some hundred.
inline constexpr std::uint64_t kLeastTrace = 1 << 20;

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

// Reads the environment and decides whether this program (`exe`, the file name of its executable) is traced. A
// value that cannot be read: one line on stderr, and the default. Uses getenv: constructor only.
void read_settings(const char* exe);

// Shell pattern of `*` and `?`, the whole name; false for an empty pattern.
bool matches(const char* pattern, std::size_t bytes, const char* name);
// True if one of a comma-separated list matches.
bool matches_any(const char* list, const char* name);
// "4096", "512K", "32M", "4G"; false if it is anything else.
bool parse_size(const char* text, std::uint64_t* bytes);

} // namespace memtrace::record
