// Purpose: the one bridge from a hook to the recorder.
// Runs: inside the program's malloc.
#include "preload/blocks/recording.h"

#include "preload/blocks/counted_mappings.h"
#include "preload/format/process_events.h"
#include "preload/job/job_attempt.h"
#include "preload/kernel/address_space_limit.h"
#include "preload/record/interner.h"
#include "preload/record/live_levels.h"
#include "preload/record/stack_capture.h"
#include "preload/record/thread_entry.h"
#include "preload/stack/python_collector.h"
#include "preload/state/arming.h"
#include "preload/state/doorbell.h"
#include "preload/state/fork_mark.h"
#include "preload/state/recorder_state.h"
#include "preload/state/thread.h"

namespace memtrace::record {

using format::RingRecord;

namespace {

std::uint16_t flags_of(const HookedBlock& block) {
  return static_cast<std::uint16_t>(block.flags | block.memory << format::kMemoryShift);
}

// Returns a record with kind and flags of `block`. The caller puts the event and the stamp.
RingRecord record_about(const HookedBlock& block) {
  RingRecord record;
  record.commit = 0;
  record.kind = static_cast<std::uint8_t>(block.kind);
  record.flags = flags_of(block);
  return record;
}

bool counts(const HookedBlock& block) {
  return (block.flags & (format::kNoAccess | format::kSampled)) == 0 && block.kind != format::Kind::none &&
         block.kind != format::Kind::mmap_file && block.kind != format::Kind::registered;
}

bool is_mapping(const HookedBlock& block) {
  return block.kind == format::Kind::mmap_anon || block.kind == format::Kind::shm ||
         (block.flags & format::kRange) != 0;
}

void update_level_at_birth(const HookedBlock& block) {
  if (is_mapping(block)) {
    if (counts(block)) level(0, count_mapping(block.address, block.given));
  } else if (counts(block)) {
    level(block.memory, static_cast<std::int64_t>(block.given));
  }
  if ((block.flags & format::kTensor) && block.memory == 0)
    tensor_level(static_cast<std::int64_t>(block.given));
}

// Subtracts a dead block from the levels. True if it is a whole mapping that was counted.
bool update_level_at_death(const HookedBlock& block) {
  std::int64_t mapped = 0;
  if (is_mapping(block)) {
    mapped = uncount_mapping(block.address, block.given);
    level(0, -mapped);
  } else if (counts(block)) {
    level(block.memory, -static_cast<std::int64_t>(block.given));
  }
  if ((block.flags & format::kTensor) && block.memory == 0)
    tensor_level(-static_cast<std::int64_t>(block.given));
  return mapped != 0;
}

void update_level_at_move(std::uint64_t from, std::uint64_t given_before, const HookedBlock& to) {
  if ((to.flags & format::kRange) == 0) {
    level(0, static_cast<std::int64_t>(to.given) - static_cast<std::int64_t>(given_before));
  } else if (const std::int64_t gone = uncount_mapping(from, given_before); gone != 0) {
    level(0, count_mapping(to.address, to.given) - gone);
  }
}

bool only_counted(const HookedBlock& block) {
  return settings.counting && block.kind == format::Kind::heap && !is_mapping(block) && block.memory == 0;
}

// Changes the levels of an armed process, of which nothing else is kept. Returns false if the process is not
// armed: then the event is recorded.
template <class Change>
bool only_levels(Change change) {
  if (!is_armed()) return false;
  {
    const Locked locked(arming_lock);
    if (!is_armed()) return false;
    change();
  }
  look_at_arming();
  return true;
}

// Keeps the level of tensors on a device, which only records say once the process records.
void keep_device_tensor(const HookedBlock& block, std::int64_t sign) {
  if ((block.flags & format::kTensor) != 0 && block.memory != 0)
    device_tensor_level(block.memory, sign * static_cast<std::int64_t>(block.asked));
}

// Moves the level by the flows of small blocks since the last record. The first record of the thread after the
// call carries them, as flows that moved the level before.
void fold_small_flows(Thread& thread) {
  const format::SmallTotals flows = unpublished(thread);
  level(0, change_of(flows));
  set_published(thread, flows);
  give_folded(thread, flows);
}

constexpr std::int64_t kCountingTick = 8 << 20;

// Counts blocks in the counters of their thread, like small blocks, but publishes them less often.
void count_flows(const Recording& here, const HookedBlock& block, std::uint64_t born, std::uint64_t died) {
  if ((block.flags & format::kSampled) != 0) return; // counted already, as a small block
  Thread* const thread = this_thread();
  if (thread == nullptr) return lost(loss_without_thread());
  if (born != 0) {
    add_to(local.small->allocated, born);
    add_to(local.small->births, 1);
  }
  if (died != 0) {
    add_to(local.small->freed, died);
    add_to(local.small->deaths, 1);
  }
  if (!take_from(local.deaths_left, born + died)) return;
  local.deaths_left = kCountingTick;
  set_look_at_deaths(*thread, kCountingTick);
  here.tick();
}

} // namespace

void Recording::born(const HookedBlock& block) const {
  notice_fork();
  if (only_levels([&block] { update_level_at_birth(block), keep_device_tensor(block, 1); })) return;
  if (only_counted(block)) return count_flows(*this, block, block.given, 0);
  const CapturedStack captured = capture_stack(true);
  RingRecord record = record_about(block);
  record.put(format::BirthEvent{block.address, block.given, block.asked, captured.stack, captured.module, {}});
  record.stamp = draw_stamp();
  update_level_at_birth(block);
  emit(record);
}

void Recording::died(const HookedBlock& block, format::Stamp death) const {
  notice_fork();
  if (only_levels([&block] { update_level_at_death(block), keep_device_tensor(block, -1); })) return;
  if (only_counted(block)) return count_flows(*this, block, 0, block.given);
  RingRecord record = record_about(block);
  record.put(format::DeathEvent{block.address, block.given, {}, {}});
  record.stamp = death;
  // The trace of a forked child has no births of inherited blocks. So the kind tells that this block was
  // memory.
  if (update_level_at_death(block)) record.kind = static_cast<std::uint8_t>(format::Kind::mmap_anon);
  if (python_collects()) record.flags |= format::kCollected;
  emit(record);
}

void Recording::moved(std::uint64_t from, std::uint64_t given_before, const HookedBlock& to,
                      format::Stamp death) const {
  notice_fork();
  if (only_levels([&] { update_level_at_move(from, given_before, to); })) return;
  if (only_counted(to)) return count_flows(*this, to, to.given, given_before);
  const format::StackId stack = capture_stack(true).stack;
  RingRecord record = record_about(to);
  const std::uint64_t between = draw_stamp() - death;
  record.put(format::MoveEvent{from, to.address, to.given, to.asked, given_before, stack,
                               between > ~0u ? ~0u : static_cast<std::uint32_t>(between)});
  record.stamp = death;
  update_level_at_move(from, given_before, to);
  emit(record);
}

// A buffering process records only the first kMostCold failures: the startup log cannot fold failures into
// counters.
void Recording::failed(const HookedBlock& block, const Refusal& why) const {
  constexpr std::uint32_t kMostCold = 64;
  static constinit std::uint32_t kept = 0;
  notice_fork();
  if (is_armed()) return;
  if (state() == State::buffering && __atomic_fetch_add(&kept, 1u, __ATOMIC_RELAXED) >= kMostCold) return;
  RingRecord record = record_about(block);
  const format::StackId stack = capture_stack(true).stack;
  const std::int64_t live = block.memory == 0 ? exact_host_level() : level_of(block.memory);
  const bool of_addresses = block.memory == 0 && why.total == format::kNotSaid;
  const AddressLimit met = of_addresses ? address_limit(block.asked) : AddressLimit{why.free, why.total};
  record.put(format::FailureEvent{block.asked, why.code, why.map_flags, stack, 0,
                                  static_cast<std::uint64_t>(live > 0 ? live : 0), met.free, met.total});
  record.stamp = draw_stamp();
  emit(record);
  remember_refusal(block.asked);
  if (state() == State::recording) request_full_sample();
}

void Recording::tick() const {
  notice_fork();
  // The thread is registered first: that takes the threads lock, which take_levels() takes before the lock of
  // events.
  Thread* const thread = is_armed() ? this_thread() : nullptr;
  if (thread != nullptr && only_levels([thread] { fold_small_flows(*thread); })) return;
  mark(format::CountersEvent{});
}

void Recording::note(const char* text, std::size_t bytes) const {
  if (is_armed()) return;
  mark(format::NoteEvent{intern_text(text, bytes), 0});
}

} // namespace memtrace::record
