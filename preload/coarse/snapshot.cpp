// Room: coarse. Runs in the drain and, when its ring is full, on the victim's thread.
// Job: what is so when a window begins, as records.
#include "coarse/fold.h"

namespace memtrace::coarse {

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

} // namespace

void Fold::snapshot(std::uint32_t window, format::Stamp stamp, std::uint64_t most_held, Put put, void* out) {
  phases_.paths().define(host_);
  ledger_.rows().publish_sites(file_);
  // Those of at least 2^(from - 1) bytes are as many as may be.
  std::uint64_t of_class[65] = {};
  std::uint64_t all = 0;
  ledger_.each([&](const Block& block) {
    ++of_class[class_of(block.given)];
    ++all;
  });
  unsigned from = 65;
  std::uint64_t listed = 0;
  while (from > 0 && listed + of_class[from - 1] <= most_held) listed += of_class[--from];

  RingRecord first = record_of(EventType::window, stamp);
  first.word[0] = halves(window, phases_.now());
  first.word[1] = stamp;
  first.word[2] = halves(phases_.stepped() ? 1 : 0, phases_.first_update());
  first.word[3] = all - listed;
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
    if (class_of(block.given) >= from) put(out, held_of(block, ledger_.role(block), stamp));
  });
}

} // namespace memtrace::coarse
