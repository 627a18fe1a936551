// Room: format. Shapes only.
// Job: what surrounds the events: segments in a trace file, slots in a ring file.
#pragma once

#include "format/event.h"

namespace memtrace::format {

inline constexpr std::uint16_t kVersion = 3;
inline constexpr char kSegmentMagic[4] = {'M', 'T', 'S', '\x02'};
inline constexpr char kRingMagic[8] = {'M', 'T', 'R', 'I', 'N', 'G', '\x02', '\n'};

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
// window held is in the rows of STEM.coarse (coarse.h) before it is dropped. A window begins with segments of
// source `snapshot`.
inline constexpr std::uint32_t kWindowFiles = 4;

// Ring file: one RingFileHeader, then `slots` slots of kSlotBytes, a RingSlot and its records each.
inline constexpr std::size_t kPage = 4096;
inline constexpr std::uint32_t kRingRecords = 2048; // per slot, a power of two
inline constexpr std::size_t kSlotBytes = kPage + kRingRecords * sizeof(RingRecord);
inline constexpr std::size_t kMaxSlots = 1024;

struct RingFileHeader {
  char magic[8];
  std::uint16_t version;
  std::uint16_t reserved0;
  std::uint32_t pid;
  std::uint64_t trace_id;
  std::uint32_t slot_bytes;
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
};
static_assert(sizeof(RingFileHeader) <= kPage);
static_assert(std::is_trivially_copyable_v<RingFileHeader>);
static_assert(kLosses <= 16);

// Flows of blocks too small to be recorded one by one, running totals of one thread.
// A record carries what was added since the thread's last one; what is left over after the last
// record of a killed process is the difference to these totals.
struct SmallTotals {
  std::uint64_t allocated; // bytes, usable size
  std::uint64_t freed;
  std::uint64_t births;
  std::uint64_t deaths;
};

struct RingSlot {
  std::uint32_t thread; // index
  std::uint32_t tid;    // 0: the slot is free
  std::uint64_t head;   // sequence of the next record; hint, the commit words decide
  std::uint64_t tail;   // sequence of the first record that is not yet in a segment
  SmallTotals small;
  std::uint32_t drain_lock;
  std::uint32_t reserved;
};
static_assert(sizeof(RingSlot) <= kPage);
static_assert(std::is_trivially_copyable_v<RingSlot>);

} // namespace memtrace::format
