// Purpose: the containers of events: segments in a trace file, slots in a ring file.
#pragma once

#include <iterator>

#include "preload/format/block_events.h"

namespace memtrace::format {

inline constexpr std::uint16_t kVersion = 3;       // the version that the recorder writes
inline constexpr std::uint16_t kOldestVersion = 3; // the oldest version that the analyzer reads

// True if this reader knows the layout of that version.
constexpr bool is_known(std::uint16_t version) {
  return version >= kOldestVersion && version <= kVersion;
}

// A reader must be able to leave out the files and segments of a newer version. So these parts are equal in all
// versions: of SegmentHeader the magic, `version`, `source`, `payload_bytes` (at most kMaxPayload), `checksum`
// and `trace_id`; a segment of source `writer`; of the other files kFamily bytes of the magic, `version` and
// `trace_id`.
inline constexpr std::size_t kFamily = 6;
inline constexpr char kSegmentMagic[4] = {'M', 'T', 'S', '\x02'};
inline constexpr char kRingMagic[8] = {'M', 'T', 'R', 'I', 'N', 'G', '\x03', '\n'};

// The origin of a segment's records. Each source of a thread has its own sequence numbers.
enum class Source : std::uint8_t {
  cold,        // from private memory, before recording began; first, wherever it is in the file
  ring,        // recorded by a thread
  definitions, // texts, code, modules, stacks, process; a reader reads them before all other sources
  snapshot,    // the state when a window began; see below
  writer,      // no records: the payload is the version of memtrace that wrote the file, as text: "0.1.0"
  keyframe,    // the state in the middle of a file; see below. A reader of all events leaves it out
};
inline constexpr std::size_t kLongestWriter = 32; // bytes of that text

// Flags of a segment.
inline constexpr std::uint8_t kAfterWindow = 1; // first of its thread in a window or stretch: a gap before it
                                                // is not a loss, the rollup has those records
inline constexpr std::uint8_t kContinues = 2; // coding continues the previous segment of its thread and source
inline constexpr std::uint8_t kWhole = 4;     // the last segment of a keyframe, which is whole then

// A trace file is a run of segments. Each segment is a header and its payload, written by one write(). If a
// reader meets damage, it searches for the next kSegmentMagic whose checksum holds.
struct SegmentHeader {
  char magic[4];
  std::uint16_t version;
  std::uint8_t source; // Source
  std::uint8_t flags;  // kAfterWindow, kContinues, kWhole
  std::uint32_t payload_bytes;
  std::uint32_t checksum; // CRC-32C of this header, with 0 here, and the payload
  std::uint32_t thread;   // index of the thread in this process, from 0
  std::uint32_t records;
  std::uint64_t first_sequence; // of this thread and source; a gap is a loss
  Stamp first_stamp;
  Stamp last_stamp;
  std::uint64_t types;    // bit EventType for each type inside, so that a reader can skip a segment
  std::uint64_t trace_id; // equal in all segments and in the ring file of one process
};
static_assert(sizeof(SegmentHeader) == 64);
static_assert(std::is_trivially_copyable_v<SegmentHeader>);
inline constexpr std::uint32_t kMaxPayload = 1u << 20; // of one segment

// Windows: when the trace file is full (after the first steps), records go to files of a bounded size,
// STEM.window-N. memtrace reuses these files. It retains the two most recent windows and those with the highest
// levels. Before a window is dropped, the rows of STEM.coarse (rollup_layout.h) have its content. A window
// begins with segments of source `snapshot`.
//
// Stretches: a large file consists of several, so that a quick reader can leave some out. A stretch ends
// with a segment of source `keyframe` that has only `level` records: the highest levels in it. If the file goes
// on, the next stretch begins with a keyframe: segments of that source with the records of a snapshot. After
// it, no segment continues the coding of an earlier one.
inline constexpr std::uint32_t kWindowFiles = 4;

// Ring file: chunks of kChunkBytes. The first chunk begins with a RingFileHeader, padded to a page. Slots fill
// the rest of it and the chunks that `batch` names. A slot is a RingSlot and its first kSlotRecords records;
// each thread has one slot. The other chunks hold the records of slots that need longer rings.
inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kChunkBytes = 16 * 1024;
inline constexpr std::uint32_t kSlotRecords = 8;    // a power of two, as is the size of each ring
inline constexpr std::uint32_t kRingRecords = 2048; // of the largest ring
inline constexpr std::size_t kMaxBatches = 512;

struct RingSlot {
  std::uint32_t thread; // index
  std::uint32_t tid;    // 0: the slot is free
  std::uint64_t head;   // sequence of the next record; a hint: the commit words decide
  std::uint64_t tail;   // sequence of the first record that is not yet in a segment
  SmallTotals small;
  std::uint32_t ring;    // the place of the records, see ring_at
  std::uint32_t writing; // a lock: held while a record is written, and while the ring is taken back
};
static_assert(sizeof(RingSlot) == 64);
static_assert(std::is_trivially_copyable_v<RingSlot>);
inline constexpr std::size_t kSlotBytes = sizeof(RingSlot) + kSlotRecords * sizeof(RingRecord);

// The slot with this thread number has the records of all threads that have no slot. The trace loses only their
// thread numbers.
inline constexpr std::uint32_t kSharedThread = 0x7fff'ffff;

// RingSlot.ring is 0 if the records follow the slot. Otherwise it has the first chunk that holds them and the
// log2 of their number.
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

// Births and deaths whose records were dropped. Bytes are those given.
struct LostBlocks {
  std::uint64_t births;
  std::uint64_t birth_bytes;
  std::uint64_t deaths;
  std::uint64_t death_bytes;
  // The part of them that no SmallTotals contain: mappings and device memory.
  std::uint64_t uncounted_birth_bytes;
  std::uint64_t uncounted_death_bytes;
  // The part of them that are tensors.
  std::uint64_t tensor_birth_bytes;
  std::uint64_t tensor_death_bytes;
};

// The times for which memtrace held threads of the program: at a ledger, or at a full ring. The last bucket has
// those longer than all limits.
inline constexpr std::uint32_t kPauseLimitsUs[] = {100, 200, 500, 1000, 2000, 5000, 20'000, 50'000};
inline constexpr std::size_t kPauseBuckets = std::size(kPauseLimitsUs) + 1;
struct Pauses {
  std::uint64_t sum_ns;
  std::uint64_t longest_ns;
  std::uint64_t count[kPauseBuckets];
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
  std::uint64_t live[8];     // rough level by memory, for views of a running process; replay is more exact
  std::uint64_t trace_bytes; // written to the trace file so far
  std::uint64_t ended;       // 1: the end record is in the trace file; 2: abort() was called, it is in a ring
  std::uint64_t own_bytes;   // private memory of the recorder without rings; updated while it runs
  // The last sample of the process's cgroups. If the process is killed, the next attempt of the job (its next
  // start in this directory) explains the death from these fields.
  std::uint64_t near;  // 1: a limit was close
  std::uint64_t left;  // bytes until the closest limit
  std::uint64_t limit; // the closest limit; all ones: there is none
  std::uint64_t kills; // OOM kills that its own cgroup had counted
  char group[1024];    // directory of its own cgroup; empty: unknown
  LostBlocks lost_blocks;
  std::uint16_t batch[kMaxBatches]; // chunk of each batch of slots after the first chunk
  // The stamp since which memtrace cannot write files, and the reason, a Loss. Meanwhile only the rings have
  // the events. Stamp 0: memtrace can write files.
  Stamp shut_since;
  std::uint64_t shut_why;
  SmallTotals slotless; // flows of threads that had no slot
  // Not 0: recording is beginning, and the trace lacks some earlier events. `beginning` is the highest level of
  // the host since the startup log began. `beginning_small` has the bytes of small blocks that no record
  // carried then.
  std::uint64_t beginning;
  std::uint64_t beginning_small;
  // Threads that are older than the recording have no slot until their next record. This is an upper bound on
  // the bytes that they count until then, for births and for deaths each.
  std::uint64_t uncounted_bound;
  // The highest level of the host before recording began. The trace may lack it, because it has only the sums
  // of blocks that were born and died before.
  std::uint64_t highest_before;
  Pauses pauses;
};
static_assert(sizeof(RingFileHeader) <= kPage);
static_assert(std::is_trivially_copyable_v<RingFileHeader>);
static_assert(kLosses <= 16);

} // namespace memtrace::format
