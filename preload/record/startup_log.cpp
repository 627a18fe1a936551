// Purpose: a bounded log in private memory, for the events of a process that is too small to leave a file.
// Runs: inside the program's malloc.
#include "preload/record/startup_log.h"

#include <iterator>

#include "preload/bounded/fork_locks.h"
#include "preload/os/mappings.h"
#include "preload/os/timestamp.h"
#include "preload/record/live_levels.h"
#include "preload/record/thread_list.h"
#include "preload/ring/ring_file.h"
#include "preload/state/loss_counters.h"
#include "preload/state/new_record.h"
#include "preload/state/settings.h"
#include "preload/trace/record_encoder.h"
#include "preload/trace/trace_windows.h"

namespace memtrace::record {

using format::EventType;
using format::RingRecord;

namespace {

struct LogEntry {
  std::uint32_t thread;
  std::uint32_t gone;
  RingRecord record;
};

constexpr std::uint32_t kCapacity = 16 * 1024; // 1.2 MiB, touched as it fills; one more entry at the end
constexpr std::uint32_t kCrowded = kCapacity / 4 * 3;
constexpr std::uint32_t kEntries = kCapacity + 1;
constexpr std::uint32_t kTable = 2 * kCapacity;
constexpr std::uint32_t kEmpty = 0;
constexpr std::uint32_t kInSegment = 2; // LogEntry.gone: in the segment that is being written
constexpr std::size_t kBufferBytes = 256 * 1024;

constinit SpinLock log_lock;
REGISTER_LOCK(log_lock, nullptr);
constinit LogEntry* log = nullptr;
constinit std::uint32_t* table = nullptr; // address -> place in the log + 1
constinit std::uint32_t used = 0;
constinit bool closed = false;
constinit std::uint64_t highest = 1;           // highest level of the host since the log began; never 0
constinit format::SmallTotals folded_blocks{}; // flows of blocks that left the log

bool is(const LogEntry& entry, EventType type) {
  return entry.record.type == static_cast<std::uint8_t>(type);
}

format::BlockExtent extent_of(const LogEntry& entry) {
  return entry.record.as<format::BlockExtent>();
}

std::uint32_t start_of(std::uint64_t address) {
  return static_cast<std::uint32_t>((address >> 4) * 0x9E3779B97F4A7C15u >> 40) % kTable;
}

// Returns the place of `address`, or the empty place where it would be. Entries are replaced but not deleted,
// and fold() clears the table.
std::uint32_t* place_of(std::uint64_t address) {
  std::uint32_t at = start_of(address);
  while (table[at] != kEmpty && extent_of(log[table[at] - 1]).address != address) at = (at + 1) % kTable;
  return &table[at];
}

// Gives the flows of a record that leaves the log back to its thread, which publishes them again.
void fold_into_counters(const LogEntry& entry) {
  Thread* thread = thread_at(entry.thread);
  // That thread is gone. Another thread gets the flows, so the totals stay right.
  if (thread == nullptr) thread = local.thread;
  if (thread == nullptr) return;
  const RingRecord& record = entry.record;
  give_folded(*thread, format::carried_by(record).totals());
  if (record.flags & (format::kNoAccess | format::kSampled)) return; // the flows contain sampled blocks already
  if (is(entry, EventType::birth)) {
    folded_blocks.allocated += extent_of(entry).given;
    ++folded_blocks.births;
  } else {
    folded_blocks.freed += extent_of(entry).given;
    ++folded_blocks.deaths;
  }
}

bool pair_up(LogEntry& birth, LogEntry& death) {
  const bool same = extent_of(birth).given == extent_of(death).given &&
                    birth.record.flags >> format::kMemoryShift == 0 &&
                    birth.record.kind != static_cast<std::uint8_t>(format::Kind::mmap_file) &&
                    ((birth.record.flags ^ death.record.flags) & format::kSampled) == 0;
  if (birth.gone || !is(birth, EventType::birth) || !same) return false;
  birth.gone = death.gone = 1;
  fold_into_counters(birth);
  // The death of a reservation does not move a level either.
  if (birth.record.flags & format::kNoAccess) death.record.flags |= format::kNoAccess;
  fold_into_counters(death);
  return true;
}

void fold() {
  for (std::uint32_t i = 0; i < kTable; ++i) table[i] = kEmpty;
  for (std::uint32_t i = 0; i < used; ++i) {
    LogEntry& entry = log[i];
    if (!is(entry, EventType::birth) && !is(entry, EventType::death)) continue;
    std::uint32_t* const place = place_of(extent_of(entry).address);
    if (is(entry, EventType::birth)) {
      *place = i + 1;
    } else if (*place != kEmpty) {
      pair_up(log[*place - 1], entry);
    }
  }
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < used; ++i)
    if (!log[i].gone) log[kept++] = log[i];
  used = kept;
}

// Removes the blocks that are only counted from the log. Their threads publish them.
void fold_heap() {
  for (std::uint32_t i = 0; i < used; ++i) {
    LogEntry& entry = log[i];
    const bool block = is(entry, EventType::birth) || is(entry, EventType::death);
    if (!block || entry.gone || entry.record.kind != static_cast<std::uint8_t>(format::Kind::heap) ||
        (entry.record.flags & format::kRange) != 0)
      continue;
    fold_into_counters(entry);
    entry.gone = 1;
  }
}

// Adds one record of all these blocks, under the number of some thread. The levels moved when the blocks were
// born and died.
void add_folded_blocks() {
  if ((folded_blocks.births | folded_blocks.deaths) == 0) return;
  RingRecord record = counters_of(folded_blocks, draw_stamp());
  record.flags = format::kBefore | format::kBlocks;
  log[used] = {used != 0 ? log[used - 1].thread : 1, 0, record};
  ++used;
  folded_blocks = {};
}

// Notes the level if it is the highest. The level contains the new record already. Another thread may hold the
// log.
[[gnu::always_inline]] inline void note_highest() {
  const std::int64_t level = host_level();
  if (level <= static_cast<std::int64_t>(highest)) return; // `beginning` is at least `highest`
  raise(highest, static_cast<std::uint64_t>(level));
  note_level(level);
}

} // namespace

void note_beginning() {
  const format::SmallTotals small = unpublished_of_all();
  const Locked locked(log_lock);
  format::RingFileHeader* const header = ring_header();
  header->beginning_small = small.allocated + small.freed;
  for (unsigned memory = 0; memory < std::size(header->live); ++memory) {
    const std::int64_t now = level_of(memory);
    header->live[memory] = static_cast<std::uint64_t>(now > 0 ? now : 0);
  }
  note_highest();
  header->beginning = highest;
  begin_to_note_levels();
}

AppendResult append_to_startup_log(Thread& thread, const RingRecord& record) {
  const Locked locked(log_lock);
  if (!locked) { // the thread that writes the log got no CPU: the other threads give up meanwhile
    lost(format::Loss::busy);
    note_highest();
    return AppendResult::lost;
  }
  if (closed) return AppendResult::closed;
  if (log == nullptr) {
    log = static_cast<LogEntry*>(os::map_private(kEntries * sizeof(LogEntry)));
    table = static_cast<std::uint32_t*>(os::map_private(kTable * sizeof(std::uint32_t)));
    if (log == nullptr || table == nullptr) {
      log = nullptr;
      lost(format::Loss::memory);
      return AppendResult::lost;
    }
  }
  if (used == kCapacity) fold();
  if (used == kCapacity) {
    lost(format::Loss::cold);
    return AppendResult::full;
  }
  log[used++] = {thread.index, 0, record};
  note_highest();
  return used < kCapacity || (fold(), used < kCrowded) ? AppendResult::yes : AppendResult::crowded;
}

namespace {

// Codes records of one thread, from the entry at `from` on, and marks them. Returns the place after the last
// entry that it checked. The entries beyond it wait for the next segment.
std::uint32_t fill_segment(std::uint32_t from, Encoder& encoder) {
  const std::uint32_t thread = log[from].thread;
  std::uint32_t sequence = log[from].record.commit; // an earlier segment of this thread set it
  std::uint32_t next = from;
  for (; next < used; ++next) {
    LogEntry& entry = log[next];
    if (entry.gone || entry.thread != thread) continue;
    if (!encoder.add(entry.record)) break;
    entry.gone = kInSegment;
    ++sequence;
  }
  for (std::uint32_t rest = next; rest < used; ++rest)
    if (!log[rest].gone && log[rest].thread == thread) log[rest].record.commit = sequence;
  return next;
}

// Writes one segment, with records of the thread whose entry is at `from`.
void write_segment(std::uint32_t from, std::uint8_t* buffer) {
  beginning_model.restart();
  Encoder encoder(buffer, kBufferBytes, beginning_model);
  const std::uint32_t first = log[from].record.commit;
  const std::uint32_t next = fill_segment(from, encoder);
  const format::SegmentHeader header =
      encoder.header(trace_file.trace_id, log[from].thread, format::Source::cold, first);
  const Appended appended = append_to_trace(header, buffer, Part::definitions);
  if (appended != Appended::yes)
    lost(appended == Appended::failed ? format::Loss::disk : format::Loss::bound, header.records);
  for (std::uint32_t at = from; at < next; ++at) {
    if (log[at].gone != kInSegment) continue;
    if (appended != Appended::yes) lost_folded_block(log[at].record);
    log[at].gone = 1;
  }
}

void unmap_log() {
  used = 0;
  if (log != nullptr) os::unmap(log, kEntries * sizeof(LogEntry));
  if (table != nullptr) os::unmap(table, kTable * sizeof(std::uint32_t));
  log = nullptr;
  table = nullptr;
}

} // namespace

void flush_startup_log() {
  const Locked locked(log_lock);
  auto* const buffer = static_cast<std::uint8_t*>(os::map_private(kBufferBytes));
  if (!locked || buffer == nullptr) {
    lost(format::Loss::cold, used);
    stop_noting_levels(); // the ring file still says that the trace lacks earlier events
    return;
  }
  if (settings.counting) fold_heap();
  if (log != nullptr) add_folded_blocks();
  for (std::uint32_t i = 0; i < used; ++i)
    if (!log[i].gone) folded.apply(log[i].thread, log[i].record);
  folded.passed(true);
  for (std::uint32_t i = 0; i < used; ++i)
    if (!log[i].gone) write_segment(i, buffer);
  os::unmap(buffer, kBufferBytes);
  closed = true;
  stop_noting_levels();
  ring_header()->highest_before = highest;
  __atomic_store_n(&ring_header()->beginning, std::uint64_t{0}, __ATOMIC_RELAXED);
  let_threads_keep_levels();
  unmap_log();
}

void forget_startup_log() {
  stop_noting_levels();
  closed = false;
  highest = 1;
  used = 0;
  folded_blocks = {};
}

} // namespace memtrace::record
