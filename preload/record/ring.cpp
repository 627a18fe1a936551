// Room: record. Runs inside the victim's malloc, and in the drain.
// Job: one ring per thread in a shared file, so that what is recorded outlives the process.
#include "record/ring.h"

#include "record/drain.h"
#include "record/loss.h"
#include "record/os.h"
#include "record/pass.h"
#include "record/recorder.h"
#include "record/small.h"
#include "record/spin_lock.h"
#include "record/stamp.h"
#include "record/talk.h"
#include "record/trace_file.h"
#include "record/windows.h"

namespace memtrace::record {

using format::kRingRecords;
using format::RingRecord;
using format::RingSlot;

namespace {

constexpr std::uint64_t kRetryNs = 1'000'000'000; // after a disk error
constexpr std::uint64_t kFastNs = 8'000'000;      // between two rings half full

constinit Path path{};
constinit format::RingFileHeader* header = nullptr;
constinit RingSlot* slots[format::kMaxSlots] = {};
constinit SpinLock slots_lock;
constinit std::uint64_t no_slot_before = 0; // after a disk error: no new slot earlier than this
constinit std::uint32_t capacity = kRingRecords - kRingReserve;
constinit std::uint64_t woken = 0;       // stamp: when a ring was half full
constinit std::uint32_t file_number = 0; // counts the ring files of this process

std::uint64_t slot_offset(std::uint32_t index) {
  return format::kPage + index * format::kSlotBytes;
}

RingSlot* extend(std::uint32_t index) {
  if (index >= format::kMaxSlots) {
    lost(format::Loss::memory);
    return nullptr;
  }
  const std::uint64_t ring_bytes = slot_offset(index + 1);
  const bool shared = trace_file.shares.window == 0; // with the trace file
  const std::uint64_t others = shared ? __atomic_load_n(&trace_file.bytes, __ATOMIC_RELAXED) : 0;
  if (ring_bytes + others > trace_file.shares.rings) {
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

// Adds what came to `now` after `before`.
void count_flows(format::SmallTotals& to, const format::SmallTotals& now, const format::SmallTotals& before) {
  add_to(to.allocated, now.allocated - before.allocated);
  add_to(to.freed, now.freed - before.freed);
  add_to(to.births, now.births - before.births);
  add_to(to.deaths, now.deaths - before.deaths);
}

// A ring for `thread`: one that its last owner left, or a new one.
bool claim(Thread& thread) {
  const Locked locked(slots_lock);
  if (!locked || header == nullptr) {
    lost(format::Loss::busy);
    return false;
  }
  std::uint32_t index = 0;
  while (index < header->slots && __atomic_load_n(&slots[index]->tid, __ATOMIC_ACQUIRE) != 0) ++index;
  RingSlot* const slot = index < header->slots ? slots[index] : extend(index);
  if (slot == nullptr) return false;
  slot_claimed(index);
  RingRecord* const records = records_of(slot);
  for (std::uint32_t i = 0; i < kRingRecords; ++i)
    records[i].commit = 0; // the last owner's would look like ours
  slot->thread = thread.index;
  slot->head = slot->tail = thread.sequence;
  const format::SmallTotals& until_now = thread.slot != nullptr ? thread.slot->small : thread.own;
  const format::SmallTotals moved = until_now;
  slot->small = moved;
  slot->drain_lock = 0;
  thread.records = records;
  thread.slot = slot;
  thread.ring_file = file_number;
  if (local.thread == &thread) {
    local.small = &slot->small;
    asm volatile("" ::: "memory");
    count_flows(slot->small, until_now, moved); // what a signal handler added while we moved
  }
  __atomic_store_n(&slot->tid, thread.tid, __ATOMIC_RELEASE);
  return true;
}

// What another thread may change at any time: for a comparison alone, not for what the records before it hold.
std::uint64_t tail_now(const RingSlot* slot) {
  return __atomic_load_n(&slot->tail, __ATOMIC_RELAXED);
}
bool drained(const RingSlot* slot) {
  return tail_now(slot) == __atomic_load_n(&slot->head, __ATOMIC_RELAXED);
}

// Those whose places in `slots` are filled.
std::uint32_t slots_now() {
  return __atomic_load_n(&header->slots, __ATOMIC_ACQUIRE);
}

// The way out of a full ring: one pass, and another when the first one's file was full.
Passed make_pass(RingSlot* slot) {
  if (disk_is_slow()) return Passed::failed; // the background thread may wait for it, the program's do not
  const std::uint64_t tail = tail_now(slot);
  Passed result = Passed::some;
  for (int tries = 0; tries < 3 && result == Passed::some && tail_now(slot) == tail; ++tries)
    result = pass(slots, slots_now(), false);
  return tail_now(slot) != tail ? Passed::all : result;
}

// A slot of a ring file that was given up: it has no place among the others.
Passed pass_old(RingSlot* const* slot) {
  slot_claimed(0);
  const Passed result = pass(slot, 1, false);
  slot_claimed(0);
  return result;
}

// The same for the event that waits for the room: it is lost where there is none.
bool write_out(Passed result) {
  switch (result) {
    case Passed::all:
    case Passed::some:
      return true;
    case Passed::no_room:
      lost(format::Loss::bound);
      break;
    case Passed::failed:
      lost(format::Loss::disk);
      say_of_losses(trace_file.path.text(), disk_error());
      break;
    case Passed::busy:
      lost(format::Loss::busy);
      break;
  }
  return false;
}

// The background thread has time to empty a ring that fills slowly. One that fills fast is emptied by who fills
// it: that thread has it in its cache, and would only wait for the other one (with every block recorded, waking
// and waiting took 1.1 s of 13 s of a training run's CPU).
void wake_if_slow(format::Stamp now) {
  const std::uint64_t before = __atomic_exchange_n(&woken, now, __ATOMIC_RELAXED);
  if (now - before >= kFastNs) wake_drain();
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
  if (at.cut() || !prepare_pass()) return false;
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
  forget_pass();
  capacity = kRingRecords - kRingReserve;
  no_slot_before = 0;
  return true;
}

bool renew_ring_file() {
  const Locked no_claim(slots_lock);
  if (!no_claim) return false;
  // What the others recorded while exec failed; a thread leaves its old ring with its next record.
  pass(slots, header->slots, true);
  const Locked no_pass(pass_lock);
  if (!no_pass) return false;
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
  if (thread.slot != nullptr && thread.ring_file != file_number && !write_out(pass_old(&thread.slot)))
    return false;
  if ((thread.slot == nullptr || thread.ring_file != file_number) && !claim(thread)) return false;
  RingSlot* const slot = thread.slot;
  const std::uint64_t sequence = thread.sequence;
  const std::uint64_t waiting = sequence - __atomic_load_n(&slot->tail, __ATOMIC_ACQUIRE);
  if (waiting >= capacity) {
    if (!write_out(make_pass(slot))) return false;
    make_room(slot, sequence);
  }
  if (waiting == kRingRecords / 2) wake_if_slow(record.stamp);
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
  Passed result = Passed::some;
  for (int tries = 0; tries < 4 && result == Passed::some; ++tries)
    result = pass(slots, slots_now(), essential);
  header->trace_bytes = __atomic_load_n(&trace_file.bytes, __ATOMIC_RELAXED);
}

bool rings_are_empty() {
  for (std::uint32_t i = 0, count = slots_now(); i < count; ++i)
    if (__atomic_load_n(&slots[i]->tid, __ATOMIC_ACQUIRE) != 0 && !drained(slots[i])) return false;
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
  if (!drained(slot) && make_pass(slot) != Passed::all) return false;
  // No pass that saw it owned may meet its next owner.
  if (disk_is_slow()) return false;
  const Locked no_pass(pass_lock);
  if (!no_pass || !drained(slot)) return false;
  thread.own = slot->small;
  thread.slot = nullptr;
  __atomic_store_n(&slot->tid, 0u, __ATOMIC_RELEASE);
  return true;
}

bool has_ring(std::uint32_t thread) {
  for (std::uint32_t i = 0; i < header->slots; ++i)
    if (slots[i] != nullptr && slots[i]->thread == thread && slots[i]->tid != 0) return true;
  return false;
}

void forget_rings() {
  header = nullptr;
  for (RingSlot*& slot : slots) slot = nullptr;
  slots_lock.reset();
}

} // namespace memtrace::record
