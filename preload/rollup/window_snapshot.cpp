// Purpose: the state when a window begins, as records.
// Runs: in the drain and, when its ring is full, on the program's thread.
#include "preload/format/window_events.h"
#include "preload/rollup/rollup.h"

namespace memtrace::rollup {

using format::RingRecord;

namespace {

template <class Event>
RingRecord record_of(const Event& event, format::Stamp stamp) {
  RingRecord record{};
  record.put(event);
  record.stamp = stamp;
  return record;
}

unsigned class_of(std::uint64_t bytes) {
  return bytes == 0 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(bytes));
}

// Sets the kind and the flags of the record of a block.
void describe(const LedgerBlock& block, RingRecord& record) {
  record.kind = block.kind;
  const bool closed =
      is_memory(block.kind) && (block.state & (LedgerBlock::kCounted | LedgerBlock::kSampled)) == 0;
  record.flags = static_cast<std::uint16_t>(
      (block.is(LedgerBlock::kTensor) ? format::kTensor : 0) | (closed ? format::kNoAccess : 0) |
      (block.is(LedgerBlock::kSampled) ? format::kSampled : 0) | block.memory << format::kMemoryShift);
}

RingRecord held_of(const LedgerBlock& block, format::TextId role, format::Stamp stamp) {
  RingRecord record =
      record_of(format::HeldEvent{block.address, block.given, block.asked, format::StackId{block.stack}, role,
                                  PhasePaths::text(block.path), block.step, block.birth},
                stamp);
  describe(block, record);
  return record;
}

RingRecord early_death_of(const Ledger::EarlyDeath& orphan, format::Stamp stamp) {
  RingRecord record = record_of(format::EarlyDeathEvent{orphan.address, orphan.given, {}, orphan.stamp}, stamp);
  record.kind = orphan.kind;
  record.flags = static_cast<std::uint16_t>((orphan.tensor ? format::kTensor : 0) |
                                            (orphan.table == Live::kTables ? format::kRange : 0) |
                                            orphan.memory << format::kMemoryShift);
  return record;
}

RingRecord displaced_of(const Ledger::DisplacedBlock& displaced, format::TextId role, format::Stamp stamp) {
  const LedgerBlock& block = displaced.block;
  RingRecord record =
      record_of(format::DisplacedEvent{block.address, block.given, block.asked, format::StackId{block.stack},
                                       role, displaced.by, block.birth},
                stamp);
  describe(block, record);
  return record;
}

// The blocks that a snapshot lists. Mappings come first, because later records about a part of a mapping give
// only its range. Of the other blocks, it lists those of at least 2^(from - 1) bytes, as many as `most` allows.
class Listed {
 public:
  Listed(Ledger& ledger, std::uint64_t most) {
    std::uint64_t of_class[65] = {}, mappings = 0, all = 0;
    ledger.each([&](const LedgerBlock& block) {
      ++all;
      is_mapping(block.kind) ? ++mappings : ++of_class[class_of(block.given)];
    });
    all_mappings_ = mappings <= most / 2;
    std::uint64_t listed = all_mappings_ ? mappings : 0;
    while (from_ > 0 && listed + of_class[from_ - 1] <= most) listed += of_class[--from_];
    unlisted_ = all - listed;
  }
  bool has(const LedgerBlock& block) const {
    return (all_mappings_ && is_mapping(block.kind)) || class_of(block.given) >= from_;
  }
  std::uint64_t unlisted() const { return unlisted_; }

 private:
  std::uint64_t unlisted_ = 0;
  bool all_mappings_ = false;
  unsigned from_ = 65;
};

} // namespace

void Rollup::snapshot(std::uint32_t window, format::Stamp stamp, std::uint64_t most_held, WriteRecord put,
                      void* out) {
  phases_.paths().define(host_);
  ledger_.rows().publish_sites(file_);
  const Listed blocks(ledger_, most_held);
  put(out, record_of(format::WindowEvent{window, phases_.now(), stamp, phases_.stepped() ? 1u : 0u,
                                         phases_.first_update(), blocks.unlisted()},
                     stamp));
  for (unsigned memory = 0; memory < ledger_.seen(); ++memory) {
    const std::int64_t* const levels = ledger_.levels()[memory];
    RingRecord level = record_of(format::LevelEvent{levels[live], levels[tensor], levels[reserved],
                                                    memory == 0 ? ledger_.small_level() : 0},
                                 stamp);
    level.flags = static_cast<std::uint16_t>(memory << format::kMemoryShift);
    put(out, level);
  }
  carried_.keep_if([this](const Carried& old) { return host_.lives(old.thread); });
  for (std::uint32_t i = 0; i < carried_.size(); ++i) {
    put(out, record_of(format::FlowsEvent{carried_[i].thread, 0, carried_[i].total}, stamp));
  }
  phases_.each([&](const PhaseFrame& frame) {
    RingRecord open = record_of(
        format::OpenPhaseEvent{frame.thread, frame.name, frame.depth, frame.place.step, frame.begin}, stamp);
    open.flags = frame.flags;
    put(out, open);
  });
  ledger_.each([&](const LedgerBlock& block) {
    if (blocks.has(block)) put(out, held_of(block, ledger_.role(block), stamp));
  });
  ledger_.each_displaced(
      [&](const Ledger::DisplacedBlock& one) { put(out, displaced_of(one, ledger_.role(one.block), stamp)); });
  ledger_.each_orphan([&](const Ledger::EarlyDeath& orphan) { put(out, early_death_of(orphan, stamp)); });
}

} // namespace memtrace::rollup
