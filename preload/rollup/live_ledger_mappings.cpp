// Purpose: mappings in the ledger of live blocks: they overlap, end in parts, move, and open or close.
// Runs: in the drain and, when its ring is full, on the program's thread.
#include "preload/rollup/live_ledger.h"

namespace memtrace::rollup {

using format::RingRecord;

namespace {

// The facts about a mapping between lift() and put_down().
struct LiftedMapping {
  std::uint64_t to;
  std::uint64_t given;
  std::uint64_t asked;
  format::StackId stack;
  std::uint8_t state;
  std::uint8_t role;
};

} // namespace

void Ledger::map(const Host& host, LedgerBlock block, FileRows& file) {
  const std::uint64_t end = end_of(block.address, block.given);
  if (end == block.address) return;
  block.given = end - block.address;
  const PhasePlace place = {block.path, block.step};
  if (orphans_used_ != 0 && adopt(block, Live::kTables)) {
    enter(host, block, file);
    leave(host, block, place);
    return;
  }
  // With MAP_FIXED, the new mapping replaces the old ones below it.
  cover(block);
  cut(host, block.memory, block.address, end, ~format::Stamp{0}, place);
  if (mappings_.add(host, block)) enter(host, block, file); // else it counts as never seen
}

// Remembers the mappings of the host that `block` will cover.
void Ledger::cover(const LedgerBlock& block) {
  if (block.memory != 0) return;
  const std::uint64_t end = end_of(block.address, block.given);
  for (std::uint32_t i = mappings_.from(0, block.address); i < mappings_.size(); ++i) {
    if (mappings_[i].memory != 0 || mappings_[i].address >= end) return;
    covered_[covered_used_++ % kCovered] = {mappings_[i], block.birth};
  }
}

// Returns the mapping of the host that was at `address` until `death`, if a newer one covered it; else nullptr.
const LedgerBlock* Ledger::covered(std::uint64_t address, format::Stamp death) const {
  for (const DisplacedBlock& one : covered_)
    if (one.block.address <= address && address < end_of(one.block.address, one.block.given) &&
        one.left_at(death))
      return &one.block;
  return nullptr;
}

// Forgets covered mappings in [from, to), because the late record of their end has come.
void Ledger::forget_covered(std::uint64_t from, std::uint64_t to, format::Stamp death) {
  if (covered_used_ == 0) return;
  for (DisplacedBlock& one : covered_)
    if (one.block.address < to && end_of(one.block.address, one.block.given) > from && one.left_at(death))
      one = {};
}

// Returns the bytes of [from, to) that are in no mapping now and were in no covered mapping at `death`. Newer
// mappings may cover an old one piece by piece, and may end before the late death comes.
std::uint64_t Ledger::never_mapped(std::uint8_t memory, std::uint64_t from, std::uint64_t to,
                                   format::Stamp death) const {
  return format::uncovered_bytes(from, to, [&](std::uint64_t at, auto see) {
    const auto see_block = [&](const LedgerBlock& block) {
      if (block.memory == memory) see(block.address, end_of(block.address, block.given));
    };
    for (std::uint32_t i = mappings_.from(memory, at); i < mappings_.size() && mappings_[i].memory == memory;
         ++i) {
      see_block(mappings_[i]);
      if (mappings_[i].address > at) break;
    }
    for (const DisplacedBlock& one : covered_)
      if (one.left_at(death)) see_block(one.block);
  });
}

// Ends the mappings in [from, to) that are older than `death`. Returns the bytes of all mappings there, also of
// newer ones.
std::uint64_t Ledger::cut(const Host& host, std::uint8_t memory, std::uint64_t from, std::uint64_t to,
                          format::Stamp death, const PhasePlace& place) {
  mappings_.split(host, memory, from);
  mappings_.split(host, memory, to);
  std::uint64_t bytes = 0;
  for (std::uint32_t i = mappings_.from(memory, from); i < mappings_.size();) {
    const LedgerBlock block = mappings_[i];
    if (block.memory != memory || block.address >= to) break;
    bytes += block.given;
    if (block.address < from || block.birth > death) { // newer than this death
      ++i;
      continue;
    }
    mappings_.erase(i);
    leave(host, block, place);
  }
  return bytes;
}

void Ledger::unmap(const Host& host, const RingRecord& record, const PhasePlace& place) {
  const auto memory = static_cast<std::uint8_t>(memory_of(record));
  auto [from, bytes] = record.as<format::BlockExtent>();
  if (bytes == 0) { // unknown size: the whole mapping that begins there
    const std::uint32_t i = mappings_.from(memory, from);
    if (i < mappings_.size() && mappings_[i].memory == memory && mappings_[i].address == from)
      bytes = mappings_[i].given;
  }
  const std::uint64_t unknown = never_mapped(memory, from, end_of(from, bytes), record.stamp);
  const std::uint64_t known = cut(host, memory, from, end_of(from, bytes), record.stamp, place);
  if (memory == 0) forget_covered(from, end_of(from, bytes), record.stamp);
  if (unknown == 0 || (record.flags & format::kReleased) != 0 || memory != 0) return;
  const bool is_tensor = (record.flags & format::kTensor) != 0;
  if (known != 0 || unknown != bytes ||
      !keep_orphan({from, bytes, record.stamp, memory, Live::kTables, record.kind, is_tensor}))
    unknown_unmap(record.kind, is_tensor, unknown);
}

bool Ledger::lift(const Host& host, RingRecord& record, const PhasePlace& place) {
  const auto move = record.as<format::MoveEvent>();
  const std::uint64_t from = move.from, before = move.given_before;
  const std::uint32_t i = mappings_.from(0, from);
  const bool there = i != mappings_.size() && mappings_[i].memory == 0 && mappings_[i].address <= from &&
                     mappings_[i].birth <= record.stamp;
  const LedgerBlock* const found = there ? &mappings_[i] : covered(from, record.stamp);
  if (found == nullptr) return false;
  record.kind = found->kind;
  record.payload.put(LiftedMapping{move.to, move.given, move.asked, move.stack, found->state, found->role});
  if (before != 0) {
    cut(host, 0, from, end_of(from, before), record.stamp, place);
    forget_covered(from, end_of(from, before), record.stamp);
  }
  record.stamp += move.birth_after;
  return true;
}

// The mapping keeps its kind, state and role. Its site becomes the call that moved or grew it.
void Ledger::put_down(const Host& host, const RingRecord& record, const PhasePlace& place, FileRows& file) {
  const auto lifted = record.as<LiftedMapping>();
  LedgerBlock block{};
  block.address = lifted.to;
  block.given = lifted.given;
  block.asked = lifted.asked;
  block.stack = static_cast<std::uint32_t>(lifted.stack);
  block.birth = record.stamp;
  block.path = place.path;
  block.step = place.step;
  block.kind = record.kind;
  block.state = lifted.state;
  block.role = lifted.role;
  map(host, block, file);
  raise(0);
}

// Counts a reservation from the call that opens it until the call that closes it.
void Ledger::protect(const Host& host, const RingRecord& record, const PhasePlace& place, FileRows& file) {
  const auto change = record.as<format::ProtectEvent>();
  const std::uint64_t from = change.address;
  const std::uint64_t to = end_of(from, change.bytes);
  const bool access = change.protection != 0;
  mappings_.split(host, 0, from);
  mappings_.split(host, 0, to);
  for (std::uint32_t i = mappings_.from(0, from); i < mappings_.size(); ++i) {
    LedgerBlock& block = mappings_[i];
    if (block.memory != 0 || block.address >= to) break;
    if (block.address < from || !is_memory(block.kind) || block.is(LedgerBlock::kCounted) == access) continue;
    if (access) {
      block.state |= LedgerBlock::kCounted;
      block.path = place.path;
      block.step = place.step;
      block.birth = record.stamp;
      enter(host, block, file);
    } else {
      leave(host, block, place);
      block.state = static_cast<std::uint8_t>(block.state & ~LedgerBlock::kCounted);
    }
  }
  raise(0);
}

} // namespace memtrace::rollup
