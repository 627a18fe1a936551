// Purpose: counts lost events by reason.
// Runs: inside the program's malloc.
#include "preload/state/loss_counters.h"

#include "preload/os/gate/syscall_gate.h"
#include "preload/state/recorder_state.h"
#include "preload/state/thread.h"

namespace memtrace::record {

using format::EventType;
using format::Kind;
using format::LostBlocks;
using format::RingRecord;

namespace {

constinit std::uint64_t early_events[16] = {};
constinit LostBlocks early_blocks{};
constinit std::uint64_t* events_by_reason = early_events;
constinit LostBlocks* blocks = &early_blocks;
constinit format::SmallTotals early_slotless{};
constinit format::SmallTotals* slotless = &early_slotless;

void add(std::uint64_t& counter, std::uint64_t value) {
  if (value != 0) __atomic_fetch_add(&counter, value, __ATOMIC_RELAXED);
}

LostBlocks& totals() {
  return *__atomic_load_n(&blocks, __ATOMIC_RELAXED);
}

// The blocks and bytes of one record.
struct LostBytes {
  std::uint64_t births = 0;
  std::uint64_t born = 0;
  std::uint64_t deaths = 0;
  std::uint64_t died = 0;
};

LostBytes bytes_of(const RingRecord& record) {
  switch (static_cast<EventType>(record.type)) {
    case EventType::birth:
      return {.births = 1, .born = record.as<format::BirthEvent>().given};
    case EventType::death:
      return {.deaths = 1, .died = record.as<format::DeathEvent>().given};
    case EventType::move: {
      const auto move = record.as<format::MoveEvent>();
      return {.births = 1, .born = move.given, .deaths = 1, .died = move.given_before};
    }
    default:
      return {};
  }
}

// True if a level counts the record's bytes. A level does not count reservations, blocks inside counted memory,
// and file mappings. Sampled blocks are in the flows already.
bool moves_a_level(const RingRecord& record) {
  const auto kind = static_cast<Kind>(record.kind);
  return (record.flags & (format::kNoAccess | format::kSampled)) == 0 && kind != Kind::none &&
         kind != Kind::registered && kind != Kind::mmap_file;
}

bool has_flows(const RingRecord& record) {
  const auto kind = static_cast<Kind>(record.kind);
  return record.flags >> format::kMemoryShift == 0 && (record.flags & format::kRange) == 0 &&
         kind != Kind::mmap_anon && kind != Kind::shm && kind != Kind::stack;
}

void add_flows(const LostBytes& bytes) {
  // Before recording begins, no thread has a slot, and each thread keeps its own flows.
  if (local.thread == nullptr || (local.thread->slot == nullptr && state() == State::recording))
    return keep_slotless_flows({bytes.born, bytes.died, bytes.births, bytes.deaths});
  add_to(local.small->allocated, bytes.born);
  add_to(local.small->births, bytes.births);
  add_to(local.small->freed, bytes.died);
  add_to(local.small->deaths, bytes.deaths);
}

void count(const LostBytes& bytes, bool tensor) {
  LostBlocks& sum = totals();
  add(sum.births, bytes.births);
  add(sum.birth_bytes, bytes.born);
  add(sum.deaths, bytes.deaths);
  add(sum.death_bytes, bytes.died);
  if (!tensor) return;
  add(sum.tensor_birth_bytes, bytes.born);
  add(sum.tensor_death_bytes, bytes.died);
}

// True if `live` counts the record's bytes.
bool count(const RingRecord& record) {
  const bool tensor = (record.flags & format::kTensor) != 0;
  const bool live = moves_a_level(record);
  if (tensor || live) count(bytes_of(record), tensor);
  return live;
}

void count_without_flows(const LostBytes& bytes) {
  add(totals().uncounted_birth_bytes, bytes.born);
  add(totals().uncounted_death_bytes, bytes.died);
}

constinit std::uint8_t of_files = static_cast<std::uint8_t>(format::Loss::disk);

// Returns the cause of a loss. In a sandbox, neither a file nor memory can be obtained, so the sandbox is the
// cause.
format::Loss cause_of(format::Loss reason) {
  if (reason != format::Loss::disk && reason != format::Loss::memory) return reason;
  if (os::calls_are_stopped()) return format::Loss::sandbox;
  return reason == format::Loss::disk ? static_cast<format::Loss>(__atomic_load_n(&of_files, __ATOMIC_RELAXED))
                                      : reason;
}

} // namespace

void lost(format::Loss reason, std::uint64_t events) {
  std::uint64_t* const totals_now = __atomic_load_n(&events_by_reason, __ATOMIC_RELAXED);
  __atomic_fetch_add(&totals_now[static_cast<std::size_t>(cause_of(reason))], events, __ATOMIC_RELAXED);
}

void blame_files_on(format::Loss reason) {
  __atomic_store_n(&of_files, static_cast<std::uint8_t>(reason), __ATOMIC_RELAXED);
}

std::uint64_t lost_so_far(format::Loss reason) {
  return __atomic_load_n(
      &__atomic_load_n(&events_by_reason, __ATOMIC_RELAXED)[static_cast<std::size_t>(reason)],
      __ATOMIC_RELAXED);
}

void lost_block(const RingRecord& record) {
  if (!count(record)) return;
  const LostBytes bytes = bytes_of(record);
  if (has_flows(record)) {
    add_flows(bytes);
  } else {
    count_without_flows(bytes);
  }
}

void lost_folded_block(const RingRecord& record) {
  if (count(record)) count_without_flows(bytes_of(record));
}

void lost_heap_block(std::uint64_t born, std::uint64_t died, bool tensor) {
  const LostBytes bytes = {born != 0, born, died != 0, died};
  count(bytes, tensor);
  if (local.small != &uncounted) {
    add_flows(bytes);
  } else { // the recorder sees this thread for the first time
    count_without_flows(bytes);
  }
}

void keep_slotless_flows(const format::SmallTotals& flows) {
  format::SmallTotals& sum = *__atomic_load_n(&slotless, __ATOMIC_RELAXED);
  add(sum.allocated, flows.allocated);
  add(sum.freed, flows.freed);
  add(sum.births, flows.births);
  add(sum.deaths, flows.deaths);
}

format::SmallTotals take_slotless_flows() {
  format::SmallTotals& sum = *__atomic_load_n(&slotless, __ATOMIC_RELAXED);
  return {__atomic_exchange_n(&sum.allocated, 0, __ATOMIC_RELAXED),
          __atomic_exchange_n(&sum.freed, 0, __ATOMIC_RELAXED),
          __atomic_exchange_n(&sum.births, 0, __ATOMIC_RELAXED),
          __atomic_exchange_n(&sum.deaths, 0, __ATOMIC_RELAXED)};
}

LostBlocks lost_blocks_so_far() {
  return totals();
}

void keep_losses_in(format::RingFileHeader* header) {
  std::uint64_t* const kept = header != nullptr ? header->lost : early_events;
  std::uint64_t* const before = __atomic_exchange_n(&events_by_reason, kept, __ATOMIC_RELAXED);
  LostBlocks* const kept_blocks = header != nullptr ? &header->lost_blocks : &early_blocks;
  const LostBlocks blocks_before = *__atomic_exchange_n(&blocks, kept_blocks, __ATOMIC_RELAXED);
  const format::SmallTotals flows_before = header != nullptr ? take_slotless_flows() : format::SmallTotals{};
  __atomic_store_n(&slotless, header != nullptr ? &header->slotless : &early_slotless, __ATOMIC_RELAXED);
  if (header == nullptr) { // a forked child starts anew
    for (std::uint64_t& events : early_events) events = 0;
    early_blocks = {};
    early_slotless = {};
    return;
  }
  keep_slotless_flows(flows_before);
  if (before == kept) return;
  for (std::size_t i = 0; i < format::kLosses; ++i) add(kept[i], before[i]);
  constexpr std::uint64_t LostBlocks::*kFields[] = {&LostBlocks::births,
                                                    &LostBlocks::birth_bytes,
                                                    &LostBlocks::deaths,
                                                    &LostBlocks::death_bytes,
                                                    &LostBlocks::uncounted_birth_bytes,
                                                    &LostBlocks::uncounted_death_bytes,
                                                    &LostBlocks::tensor_birth_bytes,
                                                    &LostBlocks::tensor_death_bytes};
  for (const auto field : kFields) add(kept_blocks->*field, blocks_before.*field);
}

} // namespace memtrace::record
