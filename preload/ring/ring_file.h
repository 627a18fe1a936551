// Purpose: the ring file: created, mapped in steps, and handed out in chunks as slots and as longer rings.
// Runs: inside the program's malloc, and in the drain.
#pragma once

#include "preload/bounded/fixed_string.h"
#include "preload/format/file_headers.h"
#include "preload/state/thread.h"

namespace memtrace::record {

// A ring is as long as its thread is busy: the 8 records in its slot, then 256, then 2,048.
inline constexpr std::uint32_t kLog2Longer = 8, kLog2Longest = 11;
static_assert(format::kRingRecords == 1u << kLog2Longest);

inline format::RingRecord* records_inside(format::RingSlot* slot) {
  return reinterpret_cast<format::RingRecord*>(slot + 1);
}

// Creates the file with its first chunk. Returns false and leaves nothing behind if that fails.
bool create_ring_file(const Path& path, std::uint64_t trace_id);
// Unlinks the file. Its mappings stay valid.
void remove_ring_file();
// In a forked child: the file is the parent's. Unmaps nothing, touches nothing of it.
void forget_ring_file();
const Path& ring_path();
format::RingFileHeader* ring_header(); // null before there is a file

// Slots that exist. Indices below slots_made() are valid. Any thread. Nothing here is read back from the file,
// where a stray write of the program could reach it.
std::uint32_t slots_made();
format::RingSlot* slot_at(std::uint32_t index);
extern constinit std::uint32_t ring_words[format::kMaxSlots]; // as RingSlot.ring
inline std::uint32_t ring_word(std::uint32_t index) {
  return __atomic_load_n(&ring_words[index], __ATOMIC_ACQUIRE);
}
// The same where no other thread can change it, for the slot is held. Plain: the thread sanitizer sees where
// the hold does not order it.
inline std::uint32_t held_ring_word(std::uint32_t index) {
  return ring_words[index];
}
Ring ring_of(std::uint32_t index);

// The disk is tried again at once, not when an error is a second old. Any thread.
void forget_chunk_errors();

// The following change the file. Slots lock held.

// `ring` is the slot's from now on: one store, with release.
void set_ring(std::uint32_t index, std::uint32_t ring);
Ring ring_at(std::uint32_t ring); // not 0

// Makes more slots. Returns false if less than `keep_free` chunks would stay free, or the disk is full.
bool add_slots(std::uint32_t keep_free);
// Returns a ring of 2^log2 records with all commit words 0, or 0 if less than `spare` of all chunks would stay
// free.
enum class Spare : std::uint8_t { none, quarter, half };
std::uint32_t lease_ring(std::uint32_t log2_records, Spare spare);
// The ring is free at once. Pass lock held too: no pass reads it.
void give_back_ring(std::uint32_t ring);
// The ring's owner left it while a pass may still read it. It is free after free_outgrown(), at the end of a
// pass.
void outgrow_ring(std::uint32_t ring);
void free_outgrown();

} // namespace memtrace::record
