// Purpose: what surrounds the events: segments in a trace file, slots in a ring file.
#pragma once

#include "preload/format/block_events.h"

namespace memtrace::format {

inline constexpr std::uint16_t kVersion = 3;
inline constexpr char kSegmentMagic[4] = {'M', 'T', 'S', '\x02'};
inline constexpr char kRingMagic[8] = {'M', 'T', 'R', 'I', 'N', 'G', '\x03', '\n'};

// Which sequence numbers a segment counts in.
enum class Source : std::uint8_t {
  cold,        // kept in private memory before recording began: first, whatever its place in the file
  ring,        // what a thread recorded
  definitions, // texts, code, modules, stacks, process: needed before anything else of the trace
  snapshot,    // what was so when a window began; see below
};

// Flags of a segment.
inline constexpr std::uint8_t kAfterWindow =
    1; // first of its thread in a window: what is missing before was folded
inline constexpr std::uint8_t kContinues = 2; // coded on from the segment of this thread and source before it

// A trace file is a run of segments, each one header and its payload, each written by one write().
// A reader that meets damage looks for the next kSegmentMagic whose checksum holds.
struct SegmentHeader {
  char magic[4];
  std::uint16_t version;
  std::uint8_t source; // Source
  std::uint8_t flags;  // kAfterWindow, kContinues
  std::uint32_t payload_bytes;
  std::uint32_t checksum; // CRC-32C of this header, with 0 here, and the payload
  std::uint32_t thread;   // index of the thread in this process, from 0
  std::uint32_t records;
  std::uint64_t first_sequence; // of this thread and source; a gap is a loss
  Stamp first_stamp;
  Stamp last_stamp;
  std::uint64_t types;    // bit EventType for each type inside, so that a reader may skip
  std::uint64_t trace_id; // the same in every segment and in the ring file of one process
};
static_assert(sizeof(SegmentHeader) == 64);
static_assert(std::is_trivially_copyable_v<SegmentHeader>);
inline constexpr std::uint32_t kMaxPayload = 1u << 20; // of one segment

// Windows: once the trace file is full (the first steps), detail goes to files of a bounded size,
// STEM.window-N, that are used again: the two most recent, and those that hold the highest levels. What a
// window held is in the rows of STEM.coarse (rollup_layout.h) before it is dropped. A window begins with
// segments of source `snapshot`.
inline constexpr std::uint32_t kWindowFiles = 4;

// Ring file: chunks of kChunkBytes. The first one begins with a RingFileHeader, padded to a page. The rest of
// it and the chunks that `batch` names hold slots: a RingSlot and its first kSlotRecords records each, one slot
// a thread. The other chunks hold the records of slots that outgrew those.
inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kChunkBytes = 16 * 1024;
inline constexpr std::uint32_t kSlotRecords = 8;    // a power of two, like every size of a ring
inline constexpr std::uint32_t kRingRecords = 2048; // of the largest ring
inline constexpr std::size_t kMaxBatches = 512;

struct RingSlot {
  std::uint32_t thread; // index
  std::uint32_t tid;    // 0: the slot is free
  std::uint64_t head;   // sequence of the next record; hint, the commit words decide
  std::uint64_t tail;   // sequence of the first record that is not yet in a segment
  SmallTotals small;
  std::uint32_t ring;    // where the records are, see ring_at
  std::uint32_t writing; // a lock: held while a record is written, and while the ring is taken back
};
static_assert(sizeof(RingSlot) == 64);
static_assert(std::is_trivially_copyable_v<RingSlot>);
inline constexpr std::size_t kSlotBytes = sizeof(RingSlot) + kSlotRecords * sizeof(RingRecord);

// A slot with this thread has the records of all threads that have no slot: each thread is lost, nothing else.
inline constexpr std::uint32_t kSharedThread = 0x7fff'ffff;

// RingSlot.ring: 0 if the records follow the slot, else the first chunk that holds them and the log2 of their
// number.
constexpr std::uint32_t ring_at(std::uint32_t chunk, std::uint32_t log2_records) {
  return chunk << 8 | log2_records;
}
constexpr std::uint32_t chunk_of_ring(std::uint32_t ring) {
  return ring >> 8;
}
constexpr std::uint32_t records_of_ring(std::uint32_t ring) {
  return ring == 0 ? kSlotRecords : std::uint32_t{1} << (ring & 31);
}

inline constexpr std::uint32_t kFirstSlots = (kChunkBytes - kPage) / kSlotBytes; // in the first chunk
inline constexpr std::uint32_t kBatchSlots = kChunkBytes / kSlotBytes;
inline constexpr std::uint32_t kMaxSlots = kFirstSlots + kMaxBatches * kBatchSlots;

// Births and deaths whose record was dropped. Bytes as given.
struct LostBlocks {
  std::uint64_t births;
  std::uint64_t birth_bytes;
  std::uint64_t deaths;
  std::uint64_t death_bytes;
  // The part of them that no thread's SmallTotals carry: mappings and device memory.
  std::uint64_t uncounted_birth_bytes;
  std::uint64_t uncounted_death_bytes;
  // The part of them that are tensors.
  std::uint64_t tensor_birth_bytes;
  std::uint64_t tensor_death_bytes;
};

struct RingFileHeader {
  char magic[8];
  std::uint16_t version;
  std::uint16_t reserved0;
  std::uint32_t pid;
  std::uint64_t trace_id;
  std::uint32_t chunk_bytes;
  std::uint32_t slots;       // slots that exist in the file
  std::uint64_t lost[16];    // by Loss, running totals
  std::uint64_t live[8];     // rough level by memory, for live views: the fold knows better
  std::uint64_t trace_bytes; // written to the trace file so far
  std::uint64_t ended;       // 1 once the end record is in the trace file; 2: it aborted, and that is in a ring
  std::uint64_t own_bytes;   // private memory of the recorder, rings not counted; a running figure
  // At the last sample of the process's cgroups: what the next attempt in the same place says it died of.
  std::uint64_t near;  // 1: a limit was close
  std::uint64_t left;  // bytes until the closest limit
  std::uint64_t limit; // which is this; all ones: there is none
  std::uint64_t kills; // oom kills that its own group had counted
  char group[1024];    // directory of that; empty: not known
  LostBlocks lost_blocks;
  std::uint16_t batch[kMaxBatches]; // chunk of each batch of slots after the first chunk
  // Since when no file can be written, and a Loss that says why: the rings are all there is. 0: files can be.
  Stamp shut_since;
  std::uint64_t shut_why;
  SmallTotals slotless; // flows of threads for which there was no slot
  // Not 0: recording has not quite begun, and what came before is not all in the trace. The highest of live[0]
  // since the first file, and bytes of small blocks that no record carried then.
  std::uint64_t beginning;
  std::uint64_t beginning_small;
  // Threads from before recording began have no slot until their next record. Upper bound on the bytes that
  // they count until then, for births and for deaths each.
  std::uint64_t uncounted_bound;
  // The highest level of the host before recording began. The trace may lack it: of blocks that came and went
  // before, it has the sums alone.
  std::uint64_t highest_before;
};
static_assert(sizeof(RingFileHeader) <= kPage);
static_assert(std::is_trivially_copyable_v<RingFileHeader>);
static_assert(kLosses <= 16);

} // namespace memtrace::format
