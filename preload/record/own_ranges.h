// Room: record. Runs on any thread.
// Job: which private mappings are the recorder's own: the kernel merges them with the program's next to them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

struct OwnRange {
  std::uint64_t start; // 0: nothing is noted here
  std::uint64_t bytes;
  bool stays_behind; // MADV_DONTFORK: a forked child has it not
};
inline constexpr std::size_t kOwnRanges = 256; // of a process of 4,096 threads: 100

// What does not fit is not noted: it is then unexplained in the ledger.
void note_own(const void* address, std::size_t bytes);
void forget_own(const void* address);
void own_stays_behind(const void* address);
// In a forked child: what stayed behind is not its own.
void forget_own_of_parent();

const OwnRange* own_ranges(); // kOwnRanges of them

} // namespace memtrace::record
