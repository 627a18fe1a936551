// Purpose: the file through which `memtrace arm` reaches an armed process (MEMTRACE=armed).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace memtrace::format {

inline constexpr char kArmedMagic[8] = {'M', 'T', 'A', 'R', 'M', 'E', 'D', '1'};
inline constexpr char kArmedSuffix[] = ".armed";
inline constexpr std::size_t kArmedBytes = 4096; // of the file

enum class ArmedState : std::uint32_t {
  armed,     // counts, and waits for a call
  recording, // writes the trace that `trace` names
  stopped,   // the steps that were asked for are over
  failed,    // no trace can be written
};

// The process makes the file STEM.armed when it holds MEMTRACE_MIN_PEAK, and removes it at its end. Both sides
// map or write it at any time, so each word is read and written at once.
struct ArmedFile {
  char magic[8]; // written last: without it, the file is not ready
  std::uint32_t pid;
  std::uint32_t rank;       // 0xFFFFFFFF: none
  std::uint32_t local_rank; // 0xFFFFFFFF: none
  std::uint32_t world_size; // 0: unknown
  std::uint32_t state;      // ArmedState
  std::uint32_t reserved;
  std::uint64_t live;    // bytes of host memory when the process last looked at the file
  std::uint64_t highest; // of `live`
  // `memtrace arm` writes these, `calls` last.
  std::uint64_t steps; // record this many whole steps; 0: until the end of the process
  std::uint64_t calls; // not 0: record
  char trace[256];     // file name of the trace, once there is one
};
static_assert(sizeof(ArmedFile) <= kArmedBytes);
static_assert(std::is_trivially_copyable_v<ArmedFile>);

} // namespace memtrace::format
