// Room: record. Runs inside the victim's malloc, and in the drain.
// Job: one ring per thread in a shared file, so that what is recorded outlives the process.
#include "record/ring.h"

#include "record/drain.h"
#include "record/encode.h"
#include "record/loss.h"
#include "record/os.h"
#include "record/recorder.h"
#include "record/spin_lock.h"
#include "record/stamp.h"
#include "record/talk.h"
#include "record/trace_file.h"

namespace memtrace::record {

using format::kRingRecords;
using format::RingRecord;
using format::RingSlot;

namespace {

constexpr std::size_t kBufferBytes = kRingRecords * format::kMaxCoded;
constexpr std::uint64_t kRetryNs = 1'000'000'000; // after a disk error
constexpr std::uint64_t kEndNs = 1'000'000'000;   // for the last drain, on a slow disk

struct Buffer {
  SpinLock lock;
  std::uint8_t* bytes = nullptr;
  format::Model model{};
};

constinit Path path{};
constinit format::RingFileHeader* header = nullptr;
constinit RingSlot* slots[format::kMaxSlots] = {};
constinit SpinLock slots_lock;
constinit Buffer drain_buffer;              // the background thread's
constinit Buffer producer_buffer;           // for whoever finds its ring full
constinit std::uint64_t not_before = 0;     // after a disk error: no try earlier than this
constinit std::uint64_t no_slot_before = 0; // the same for a new slot
constinit bool at_bound = false;
constinit std::uint32_t capacity = kRingRecords - kRingReserve;
constinit std::uint32_t file_number = 0; // counts the ring files of this process

RingRecord* records_of(RingSlot* slot) {
  return reinterpret_cast<RingRecord*>(reinterpret_cast<char*>(slot) + format::kPage);
}

std::uint64_t slot_offset(std::uint32_t index) {
  return format::kPage + index * format::kSlotBytes;
}

bool committed(const RingRecord& record, std::uint64_t sequence) {
  return __atomic_load_n(&record.commit, __ATOMIC_ACQUIRE) == static_cast<std::uint32_t>(sequence + 1);
}

RingSlot* extend(std::uint32_t index) {
  if (index >= format::kMaxSlots) {
    lost(format::Loss::memory);
    return nullptr;
  }
  const std::uint64_t ring_bytes = slot_offset(index + 1);
  if (ring_bytes + __atomic_load_n(&trace_file.bytes, __ATOMIC_RELAXED) > trace_file.max_bytes) {
    lost(format::Loss::bound);
    return nullptr;
  }
  if (os::monotonic_ns() < no_slot_before) {
    lost(format::Loss::disk);
    return nullptr;
  }
  RingSlot* slot = nullptr;
  const long fd = os::open_both(path.text());
  if (fd >= 0) {
    if (os::allocate(fd, slot_offset(index), format::kSlotBytes) >= 0)
      slot = static_cast<RingSlot*>(os::map_shared(fd, slot_offset(index), format::kSlotBytes));
    os::close(fd);
  }
  if (slot == nullptr) {
    no_slot_before = os::monotonic_ns() + kRetryNs;
    lost(format::Loss::disk);
    return nullptr;
  }
  slots[index] = slot;
  __atomic_store_n(&trace_file.ring_bytes, ring_bytes, __ATOMIC_RELAXED);
  __atomic_store_n(&header->slots, index + 1, __ATOMIC_RELEASE);
  return slot;
}

// A ring for `thread`: one that its last owner left, or a new one.
bool claim(Thread& thread) {
  const Locked locked(slots_lock);
  if (!locked || header == nullptr) {
    lost(format::Loss::busy);
    return false;
  }
  RingSlot* slot = nullptr;
  for (std::uint32_t i = 0; i < header->slots && slot == nullptr; ++i)
    if (__atomic_load_n(&slots[i]->tid, __ATOMIC_ACQUIRE) == 0) slot = slots[i];
  if (slot == nullptr) slot = extend(header->slots);
  if (slot == nullptr) return false;
  RingRecord* const records = records_of(slot);
  for (std::uint32_t i = 0; i < kRingRecords; ++i)
    records[i].commit = 0; // the last owner's would look like ours
  slot->thread = thread.index;
  slot->head = slot->tail = thread.sequence;
  slot->small = thread.slot != nullptr ? thread.slot->small : thread.own;
  slot->drain_lock = 0;
  thread.records = records;
  thread.slot = slot;
  thread.ring_file = file_number;
  if (local.thread == &thread) local.small = &slot->small;
  __atomic_store_n(&slot->tid, thread.tid, __ATOMIC_RELEASE);
  return true;
}

bool try_lock(RingSlot* slot) {
  return __atomic_exchange_n(&slot->drain_lock, 1u, __ATOMIC_ACQUIRE) == 0;
}
void unlock(RingSlot* slot) {
  __atomic_store_n(&slot->drain_lock, 0u, __ATOMIC_RELEASE);
}

bool lock_bounded(RingSlot* slot) {
  const std::uint64_t until = os::monotonic_ns() + 50'000'000;
  while (!try_lock(slot)) {
    if (os::monotonic_ns() > until) return false;
    os::yield();
  }
  return true;
}

// One segment of what `slot` holds. Drain lock and buffer held.
Appended drain_slot(RingSlot* slot, std::uint8_t* buffer, bool essential) {
  const std::uint64_t first = slot->tail;
  const RingRecord* const records = records_of(slot);
  format::Model& model = buffer == drain_buffer.bytes ? drain_buffer.model : producer_buffer.model;
  model.restart();
  Encoder encoder(buffer, kBufferBytes, model);
  std::uint64_t next = first;
  while (next - first < kRingRecords) {
    const RingRecord& record = records[next % kRingRecords];
    if (!committed(record, next) || !encoder.add(record)) break;
    ++next;
  }
  if (next == first) return Appended::yes;
  const format::SegmentHeader segment =
      encoder.header(trace_file.trace_id, slot->thread, format::Source::ring, first);
  const Appended result = append_segment(segment, buffer, essential);
  if (result == Appended::yes) __atomic_store_n(&slot->tail, next, __ATOMIC_RELEASE);
  return result;
}

enum class Written { yes, no_room, failed, busy };

// The way out of a full ring. Bounded: one wait for the drain, one write.
Written try_write_out(RingSlot* slot) {
  if (__atomic_load_n(&at_bound, __ATOMIC_RELAXED)) return Written::no_room;
  if (os::monotonic_ns() < __atomic_load_n(&not_before, __ATOMIC_RELAXED) || disk_is_slow())
    return Written::failed;
  const Locked locked(producer_buffer.lock);
  if (!locked || !lock_bounded(slot)) return Written::busy;
  const Appended result = drain_slot(slot, producer_buffer.bytes, false);
  unlock(slot);
  if (result == Appended::yes) return Written::yes;
  if (result == Appended::no_room) {
    __atomic_store_n(&at_bound, true, __ATOMIC_RELAXED);
    return Written::no_room;
  }
  __atomic_store_n(&not_before, os::monotonic_ns() + kRetryNs, __ATOMIC_RELAXED);
  return Written::failed;
}

// The same for the event that waits for the room: it is lost where there is none.
bool write_out(RingSlot* slot) {
  switch (try_write_out(slot)) {
    case Written::yes:
      return true;
    case Written::no_room:
      lost(format::Loss::bound);
      break;
    case Written::failed:
      lost(format::Loss::disk);
      say_of_losses(trace_file.path.text(), disk_error());
      break;
    case Written::busy:
      lost(format::Loss::busy);
      break;
  }
  return false;
}

// A ring that is as full as before after it was written out has a record at its tail that cannot be read (a
// stray write of the program's): it is given up, so that the others are not.
void make_room(RingSlot* slot, std::uint64_t sequence) {
  const std::uint64_t tail = __atomic_load_n(&slot->tail, __ATOMIC_ACQUIRE);
  if (sequence - tail < capacity) return;
  lost(format::Loss::memory);
  __atomic_store_n(&slot->tail, tail + 1, __ATOMIC_RELEASE);
}

} // namespace

bool create_ring_file(const Path& at, std::uint64_t trace_id) {
  if (drain_buffer.bytes == nullptr)
    drain_buffer.bytes = static_cast<std::uint8_t*>(os::map_private(kBufferBytes));
  if (producer_buffer.bytes == nullptr)
    producer_buffer.bytes = static_cast<std::uint8_t*>(os::map_private(kBufferBytes));
  if (at.cut() || drain_buffer.bytes == nullptr || producer_buffer.bytes == nullptr) return false;
  const long fd = os::create(at.text());
  if (fd < 0) return false;
  void* const mapped = os::allocate(fd, 0, format::kPage) >= 0 ? os::map_shared(fd, 0, format::kPage) : nullptr;
  os::close(fd);
  if (mapped == nullptr) {
    os::unlink(at.text());
    return false;
  }
  path = at;
  header = static_cast<format::RingFileHeader*>(mapped);
  std::memcpy(header->magic, format::kRingMagic, sizeof header->magic);
  header->version = format::kVersion;
  header->pid = static_cast<std::uint32_t>(os::process_id());
  header->trace_id = trace_id;
  ++file_number;
  header->slot_bytes = static_cast<std::uint32_t>(format::kSlotBytes);
  __atomic_store_n(&trace_file.ring_bytes, std::uint64_t{format::kPage}, __ATOMIC_RELAXED);
  at_bound = false;
  capacity = kRingRecords - kRingReserve;
  not_before = no_slot_before = 0;
  return true;
}

bool renew_ring_file() {
  const Locked no_drain(drain_buffer.lock);
  const Locked no_claim(slots_lock);
  if (!no_drain || !no_claim) return false;
  // What the others recorded while exec failed; a thread leaves its old ring with its next record.
  for (std::uint32_t i = 0; i < header->slots; ++i) {
    if (slots[i]->tid == 0 || !try_lock(slots[i])) continue;
    drain_slot(slots[i], drain_buffer.bytes, true);
    unlock(slots[i]);
  }
  static constinit Path again{};
  again = path;
  const std::uint64_t id = header->trace_id;
  if (!create_ring_file(again, id)) return false;
  for (RingSlot*& slot : slots) slot = nullptr;
  keep_losses_in(header->lost);
  return true;
}

void remove_ring_file() {
  os::unlink(path.text());
}
const Path& ring_path() {
  return path;
}
format::RingFileHeader* ring_header() {
  return header;
}

void open_reserve() {
  capacity = kRingRecords;
}

bool ring_append(Thread& thread, RingRecord& record) {
  if (thread.slot != nullptr && thread.ring_file != file_number && !write_out(thread.slot)) return false;
  if ((thread.slot == nullptr || thread.ring_file != file_number) && !claim(thread)) return false;
  RingSlot* const slot = thread.slot;
  const std::uint64_t sequence = thread.sequence;
  const std::uint64_t waiting = sequence - __atomic_load_n(&slot->tail, __ATOMIC_ACQUIRE);
  if (waiting >= capacity) {
    if (!write_out(slot)) return false;
    make_room(slot, sequence);
  }
  if (waiting == kRingRecords / 2) wake_drain();
  RingRecord* const at = &thread.records[sequence % kRingRecords];
  at->type = record.type;
  at->kind = record.kind;
  at->flags = record.flags;
  at->stamp = record.stamp;
  for (std::size_t i = 0; i < format::kWords; ++i) at->word[i] = record.word[i];
  __atomic_store_n(&at->commit, static_cast<std::uint32_t>(sequence + 1), __ATOMIC_RELEASE);
  thread.sequence = sequence + 1;
  __atomic_store_n(&slot->head, sequence + 1, __ATOMIC_RELEASE);
  return true;
}

void drain_rings(bool essential) {
  if (header == nullptr) return;
  const Locked locked(drain_buffer.lock);
  if (!locked) return;
  const std::uint32_t count = __atomic_load_n(&header->slots, __ATOMIC_ACQUIRE);
  const std::uint64_t until = os::monotonic_ns() + kEndNs;
  for (std::uint32_t i = 0; i < count; ++i) {
    RingSlot* const slot = slots[i];
    if (essential && os::monotonic_ns() > until) break; // a program's thread: the ring file keeps what is left
    if (__atomic_load_n(&slot->tid, __ATOMIC_ACQUIRE) == 0 || !try_lock(slot)) continue;
    drain_slot(slot, drain_buffer.bytes, essential);
    unlock(slot);
  }
  header->trace_bytes = __atomic_load_n(&trace_file.bytes, __ATOMIC_RELAXED);
}

bool rings_are_empty() {
  for (std::uint32_t i = 0; i < header->slots; ++i)
    if (slots[i]->tid != 0 && slots[i]->tail != slots[i]->head) return false;
  return true;
}

bool ring_release(Thread& thread) {
  const format::SmallTotals left = unpublished(thread);
  if (left.births != 0 || left.deaths != 0) {
    RingRecord record = {};
    record.type = static_cast<std::uint8_t>(format::EventType::counters);
    record.stamp = draw_stamp();
    record.word[0] = left.allocated;
    record.word[1] = left.freed;
    record.word[2] = left.births;
    record.word[3] = left.deaths;
    if (!publish_left_over(thread, record)) return false;
    set_published(thread, left);
  }
  RingSlot* const slot = thread.slot;
  if (slot == nullptr) return true;
  if (slot->tail != slot->head && try_write_out(slot) != Written::yes) return false;
  thread.own = slot->small;
  thread.slot = nullptr;
  __atomic_store_n(&slot->tid, 0u, __ATOMIC_RELEASE);
  return true;
}

void forget_rings() {
  header = nullptr;
  for (RingSlot*& slot : slots) slot = nullptr;
  slots_lock.reset();
  drain_buffer.lock.reset();
  producer_buffer.lock.reset();
}

} // namespace memtrace::record
