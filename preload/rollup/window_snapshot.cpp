// Purpose: what is so when a window begins, as records.
// Runs: in the drain and, when its ring is full, on the program's thread.
#include "preload/rollup/rollup.h"

namespace memtrace::rollup {

using format::EventType;
using format::halves;
using format::RingRecord;

namespace {

RingRecord record_of(EventType type, format::Stamp stamp) {
  RingRecord record{};
  record.type = static_cast<std::uint8_t>(type);
  record.stamp = stamp;
  return record;
}

unsigned class_of(std::uint64_t bytes) {
  return bytes == 0 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(bytes));
}

RingRecord held_of(const Block& block, format::TextId role, format::Stamp stamp) {
  RingRecord record = record_of(EventType::held, stamp);
  record.kind = block.kind;
  const bool closed = is_memory(block.kind) && (block.state & (Block::kCounted | Block::kSampled)) == 0;
  record.flags = static_cast<std::uint16_t>(
      (block.is(Block::kTensor) ? format::kTensor : 0) | (closed ? format::kNoAccess : 0) |
      (block.is(Block::kSampled) ? format::kSampled : 0) | block.memory << format::kMemoryShift);
  record.word[0] = block.address;
  record.word[1] = block.given;
  record.word[2] = block.asked;
  record.word[3] = halves(block.stack, static_cast<std::uint32_t>(role));
  record.word[4] = halves(static_cast<std::uint32_t>(Paths::text(block.path)), block.step);
  record.word[5] = block.birth;
  return record;
}

RingRecord early_death_of(const Ledger::Orphan& orphan, format::Stamp stamp) {
  RingRecord record = record_of(EventType::early_death, stamp);
  record.kind = orphan.kind;
  record.flags = static_cast<std::uint16_t>((orphan.tensor ? format::kTensor : 0) |
                                            (orphan.table == Live::kTables ? format::kRange : 0) |
                                            orphan.memory << format::kMemoryShift);
  record.word[0] = orphan.address;
  record.word[1] = orphan.given;
  record.word[5] = orphan.stamp;
  return record;
}

RingRecord displaced_of(const Ledger::Displaced& displaced, format::TextId role, format::Stamp stamp) {
  RingRecord record = held_of(displaced.block, role, stamp);
  record.type = static_cast<std::uint8_t>(EventType::displaced);
  record.word[4] = displaced.by;
  return record;
}

// Which blocks a snapshot lists: mappings, for later records tell no more of a part of one than its range, and
// of the others those of at least 2^(from - 1) bytes. As many as may be.
class Listed {
 public:
  Listed(Ledger& ledger, std::uint64_t most) {
    std::uint64_t of_class[65] = {}, mappings = 0, all = 0;
    ledger.each([&](const Block& block) {
      ++all;
      is_mapping(block.kind) ? ++mappings : ++of_class[class_of(block.given)];
    });
    all_mappings_ = mappings <= most / 2;
    std::uint64_t listed = all_mappings_ ? mappings : 0;
    while (from_ > 0 && listed + of_class[from_ - 1] <= most) listed += of_class[--from_];
    unlisted_ = all - listed;
  }
  bool has(const Block& block) const {
    return (all_mappings_ && is_mapping(block.kind)) || class_of(block.given) >= from_;
  }
  std::uint64_t unlisted() const { return unlisted_; }

 private:
  std::uint64_t unlisted_ = 0;
  bool all_mappings_ = false;
  unsigned from_ = 65;
};

} // namespace

void Fold::snapshot(std::uint32_t window, format::Stamp stamp, std::uint64_t most_held, Put put, void* out) {
  phases_.paths().define(host_);
  ledger_.rows().publish_sites(file_);
  const Listed blocks(ledger_, most_held);
  RingRecord first = record_of(EventType::window, stamp);
  first.word[0] = halves(window, phases_.now());
  first.word[1] = stamp;
  first.word[2] = halves(phases_.stepped() ? 1 : 0, phases_.first_update());
  first.word[3] = blocks.unlisted();
  put(out, first);
  for (unsigned memory = 0; memory < ledger_.seen(); ++memory) {
    RingRecord level = record_of(EventType::level, stamp);
    level.flags = static_cast<std::uint16_t>(memory << format::kMemoryShift);
    for (unsigned measure = 0; measure < kMeasures; ++measure)
      level.word[measure] = static_cast<std::uint64_t>(ledger_.levels()[memory][measure]);
    level.word[3] = memory == 0 ? static_cast<std::uint64_t>(ledger_.small_level()) : 0;
    put(out, level);
  }
  carried_.keep_if([this](const Carried& old) { return host_.lives(old.thread); });
  for (std::uint32_t i = 0; i < carried_.size(); ++i) {
    RingRecord flows = record_of(EventType::flows, stamp);
    const format::SmallTotals& total = carried_[i].total;
    flows.word[0] = carried_[i].thread;
    flows.word[1] = total.allocated;
    flows.word[2] = total.freed;
    flows.word[3] = total.births;
    flows.word[4] = total.deaths;
    put(out, flows);
  }
  phases_.each([&](const Frame& frame) {
    RingRecord open = record_of(EventType::open_phase, stamp);
    open.flags = frame.flags;
    open.word[0] = halves(frame.thread, static_cast<std::uint32_t>(frame.name));
    open.word[1] = halves(frame.depth, frame.place.step);
    open.word[2] = frame.begin;
    put(out, open);
  });
  ledger_.each([&](const Block& block) {
    if (blocks.has(block)) put(out, held_of(block, ledger_.role(block), stamp));
  });
  ledger_.each_displaced(
      [&](const Ledger::Displaced& one) { put(out, displaced_of(one, ledger_.role(one.block), stamp)); });
  ledger_.each_orphan([&](const Ledger::Orphan& orphan) { put(out, early_death_of(orphan, stamp)); });
}

} // namespace memtrace::rollup
