// Purpose: the ring file: creates it, maps it in steps, and gives out its chunks as slots and as longer rings.
// Runs: inside the program's malloc, and in the drain.
#pragma once

#include "preload/bounded/fixed_string.h"
#include "preload/format/file_headers.h"
#include "preload/state/thread.h"

namespace memtrace::record {

// The length of a ring grows with the load of its thread: the 8 records in its slot, then 256, then 2,048.
inline constexpr std::uint32_t kLog2Longer = 8, kLog2Longest = 11;
static_assert(format::kRingRecords == 1u << kLog2Longest);

inline format::RingRecord* records_inside(format::RingSlot* slot) {
  return reinterpret_cast<format::RingRecord*>(slot + 1);
}

// Creates the file with its first chunk. Returns false and leaves nothing behind if that fails.
bool create_ring_file(const Path& path, std::uint64_t trace_id);
// Unlinks the file. Its mappings stay valid.
void remove_ring_file();
// Forgets the file in a forked child, because it is the parent's. It does not unmap or change it.
void forget_ring_file();
const Path& ring_path();
format::RingFileHeader* ring_header(); // null before there is a file

// The slots in the file. Indices below slots_made() are valid. Any thread may call these functions. They read
// nothing back from the file, where a stray write of the program could change it.
std::uint32_t slots_made();
format::RingSlot* slot_at(std::uint32_t index);
extern constinit std::uint32_t ring_words[format::kMaxSlots]; // as RingSlot.ring
inline std::uint32_t ring_word(std::uint32_t index) {
  return __atomic_load_n(&ring_words[index], __ATOMIC_ACQUIRE);
}
// Returns the ring word of a slot that the caller holds, so that no other thread can change it. The load is
// plain, so that the thread sanitizer reports a missing hold.
inline std::uint32_t held_ring_word(std::uint32_t index) {
  return ring_words[index];
}
Ring ring_of(std::uint32_t index);

// Lets the next call try the disk again, without the wait after an error. Any thread may call it.
void forget_chunk_errors();

// The following functions change the file. The caller holds the slots lock.

// Gives `ring` to the slot by one store with release.
void set_ring(std::uint32_t index, std::uint32_t ring);
Ring ring_at(std::uint32_t ring); // not 0

// Makes more slots. Returns false if fewer than `keep_free` chunks would stay free, or the disk is full.
bool add_slots(std::uint32_t keep_free);
// Returns a ring of 2^log2_records records whose commit words are 0. Returns 0 if less than `spare` of all
// chunks would stay free, or the disk is full.
enum class Spare : std::uint8_t { none, quarter, half };
std::uint32_t lease_ring(std::uint32_t log2_records, Spare spare);
// Frees the ring at once. The caller also holds the pass lock, so no pass reads the ring.
void give_back_ring(std::uint32_t ring);
// Marks a ring whose thread moved to a longer ring. A pass may still read the old ring, so free_outgrown()
// frees it at the end of a pass.
void outgrow_ring(std::uint32_t ring);
void free_outgrown();

} // namespace memtrace::record
