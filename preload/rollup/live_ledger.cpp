// Purpose: the live blocks and their sums, by the rules of analyzer/replay/live_blocks.h.
// Runs: in the drain and, when its ring is full, on the program's thread.
#include "preload/rollup/live_ledger.h"

namespace memtrace::rollup {

using format::RingRecord;

namespace {

// Subtracts `bytes` from both levels, but at most the bytes that are still inherited.
void reduce(std::int64_t& inherited, std::int64_t& level, std::uint64_t bytes) {
  const std::uint64_t left = inherited > 0 ? static_cast<std::uint64_t>(inherited) : 0;
  shrink(inherited, bytes < left ? bytes : left);
  shrink(level, bytes < left ? bytes : left);
}

} // namespace

void Ledger::start(bool forked, std::int64_t live_bytes, std::int64_t tensor_bytes) {
  forked_ = forked;
  seen_ = 1;
  inherited_live_ = levels_[0][live] = live_bytes;
  inherited_tensor_ = levels_[0][tensor] = tensor_bytes;
  reset_high_water();
}

void Ledger::raise(unsigned memory) {
  if (memory >= seen_) seen_ = memory + 1;
  for (unsigned i = 0; i < reserved; ++i)
    if (levels_[memory][i] > highs_[memory][i]) highs_[memory][i] = levels_[memory][i];
}

LedgerBlock Ledger::block_of(const RingRecord& record, const PhasePlace& place) const {
  const auto birth = record.as<format::BirthEvent>();
  LedgerBlock block{};
  block.address = birth.address;
  block.given = birth.given;
  block.asked = birth.asked;
  block.birth = record.stamp;
  block.stack = static_cast<std::uint32_t>(birth.stack);
  block.path = place.path;
  block.step = place.step;
  block.kind = record.kind;
  block.memory = static_cast<std::uint8_t>(memory_of(record));
  block.state = LedgerBlock::kUsed;
  if (record.flags & format::kSampled) {
    block.state |= LedgerBlock::kSampled; // the flows of small blocks have it already
    return block;
  }
  if (record.flags & format::kTensor) block.state |= LedgerBlock::kTensor;
  if (record.flags & format::kArena) block.state |= LedgerBlock::kArena;
  if (is_memory(record.kind) && (record.flags & format::kNoAccess) == 0) block.state |= LedgerBlock::kCounted;
  return block;
}

void Ledger::enter(const Host& host, const LedgerBlock& block, FileRows& file) {
  grow(levels_[block.memory][tensor], block.tensor_bytes());
  if (block.is(LedgerBlock::kCounted)) {
    grow(levels_[block.memory][live], block.given);
    rows_.flow(host, {block.path, block.step}, block.memory, block.given, 0, 1);
  }
  if (block.state & (LedgerBlock::kCounted | LedgerBlock::kTensor | LedgerBlock::kSampled))
    rows_.born(host, block, file);
}

void Ledger::leave(const Host& host, const LedgerBlock& block, const PhasePlace& place) {
  shrink(levels_[block.memory][tensor], block.tensor_bytes());
  if (!block.is(LedgerBlock::kCounted)) return;
  shrink(levels_[block.memory][live], block.given);
  rows_.flow(host, place, block.memory, 0, block.given, 0);
}

// True if the death of `block` came before its birth. Such a block leaves only its flows.
bool Ledger::adopt(const LedgerBlock& block, unsigned table) {
  for (std::uint32_t i = 0; i < orphans_used_; ++i) {
    const EarlyDeath& orphan = orphans_[i];
    if (orphan.address != block.address || orphan.memory != block.memory || orphan.table != table ||
        orphan.stamp < block.birth)
      continue;
    orphans_[i] = orphans_[--orphans_used_];
    return true;
  }
  return false;
}

void Ledger::note_displaced(const LedgerBlock& block, format::Stamp by) {
  DisplacedBlock& place = displaced_[displaced_used_++ % kDisplaced];
  displaced_now_ += place.by == 0 ? 1 : 0;
  place = {block, by};
}

// True if a displaced block, which is not in a level any more, ended at `death`. Forgets that block.
bool Ledger::forget_displaced(std::uint64_t address, std::uint8_t memory, unsigned table, format::Stamp death) {
  if (displaced_now_ == 0) return false;
  for (DisplacedBlock& one : displaced_) {
    if (one.block.address != address || !one.left_at(death) || one.block.memory != memory ||
        Live::table_of(one.block.kind) != table)
      continue;
    one = {};
    --displaced_now_;
    return true;
  }
  return false;
}

// Removes `block` from the levels, because a newer block has its address. If the recorder dropped the death of
// `block`, the flows have its bytes: the level fell when they came.
void Ledger::displace(const Host& host, const LedgerBlock& block, const PhasePlace& place) {
  if (found_deaths_ >= lost_deaths_ || block.memory != 0) {
    leave(host, block, place);
    return;
  }
  ++found_deaths_;
  shrink(levels_[0][tensor], block.tensor_bytes());
}

void Ledger::birth(const Host& host, const RingRecord& record, const PhasePlace& place, FileRows& file) {
  LedgerBlock block = block_of(record, place);
  if (is_mapping(record.kind)) {
    map(host, block, file);
    raise(block.memory);
    return;
  }
  LedgerBlock* const before = live_.find(block.address, block.memory, Live::table_of(block.kind));
  const bool over = before != nullptr && before->birth > block.birth;
  if (over || (orphans_used_ != 0 && adopt(block, Live::table_of(block.kind)))) {
    if (over) note_displaced(block, before->birth);
    enter(host, block, file);
    leave(host, block, place);
  } else {
    if (before != nullptr) { // its death was lost or comes late: a move records it only afterwards
      note_displaced(*before, block.birth);
      displace(host, *before, place);
      *before = block;
    } else if (!live_.add(host, block)) {
      ++unlisted_;
    }
    enter(host, block, file);
  }
  raise(block.memory);
}

void Ledger::death(const Host& host, const RingRecord& record, const PhasePlace& place) {
  if ((record.flags & format::kRange) != 0 || is_mapping(record.kind)) {
    unmap(host, record, place);
    return;
  }
  const unsigned table = Live::table_of(record.kind);
  const auto memory = static_cast<std::uint8_t>(memory_of(record));
  const auto extent = record.as<format::BlockExtent>();
  LedgerBlock* const block = live_.find(extent.address, memory, table);
  if (block != nullptr && block->birth <= record.stamp) {
    const LedgerBlock gone = *block;
    live_.erase(block);
    leave(host, gone, place);
    return;
  }
  if (forget_displaced(extent.address, memory, table, record.stamp)) return;
  const bool is_tensor = (record.flags & format::kTensor) != 0;
  const bool sampled = (record.flags & format::kSampled) != 0;
  const std::uint64_t given = sampled ? 0 : extent.given;
  const bool kept = keep_orphan(
      {extent.address, given, record.stamp, memory, static_cast<std::uint8_t>(table), record.kind, is_tensor});
  if (!kept && !sampled) unknown_death(memory, record.kind, is_tensor, given);
}

bool Ledger::keep_orphan(const EarlyDeath& orphan) {
  if (!ragged_ || orphans_used_ == kOrphans) return false;
  orphans_[orphans_used_++] = orphan;
  return true;
}

void Ledger::ragged(bool is) {
  ragged_ = is;
  if (is) return;
  for (std::uint32_t i = 0; i < orphans_used_; ++i) {
    const EarlyDeath& orphan = orphans_[i];
    if (orphan.table == Live::kTables) {
      unknown_unmap(orphan.kind, orphan.tensor, orphan.given);
    } else if (orphan.given != 0) {
      unknown_death(orphan.memory, orphan.kind, orphan.tensor, orphan.given);
    }
  }
  orphans_used_ = 0;
}

// Handles the death of a block that is not listed: there was no room, its birth was lost, or the parent of a
// forked child allocated it. The record of the death gives the size.
void Ledger::unknown_death(unsigned memory, std::uint8_t kind, bool is_tensor, std::uint64_t bytes) {
  if (unlisted_ != 0) {
    --unlisted_;
    if (is_memory(kind)) shrink(levels_[memory][live], bytes);
    if (is_tensor) shrink(levels_[memory][tensor], bytes);
    return;
  }
  if (found_births_ < lost_births_ && memory == 0 && is_memory(kind)) {
    ++found_births_;
    shrink(levels_[0][live], bytes);
    shrink(small_, bytes);
    --small_blocks_;
    return;
  }
  if (!forked_ || memory != 0) return;
  if (is_memory(kind)) reduce(inherited_live_, levels_[0][live], bytes);
  if (is_tensor) reduce(inherited_tensor_, levels_[0][tensor], bytes);
}

// Handles the end of mapped bytes that are not known. Mappings are never in `unlisted_`: unknown bytes were
// never counted, or they are the parent's.
void Ledger::unknown_unmap(std::uint8_t kind, bool is_tensor, std::uint64_t bytes) {
  if (!forked_) return;
  if (is_memory(kind)) reduce(inherited_live_, levels_[0][live], bytes);
  if (is_tensor) reduce(inherited_tensor_, levels_[0][tensor], bytes);
}

void Ledger::small(const Host& host, const format::SmallTotals& flows, const PhasePlace& place) {
  grow(levels_[0][live], flows.allocated - flows.freed);
  grow(small_, flows.allocated - flows.freed);
  grow(small_blocks_, flows.births - flows.deaths);
  rows_.flow(host, place, 0, flows.allocated, flows.freed, flows.births);
  raise(0);
}

void Ledger::label(const RingRecord& record) {
  const auto label = record.as<format::LabelEvent>();
  const format::TextId wanted = label.role;
  std::uint8_t role = 0;
  while (role < 255 && roles_[role] != wanted && roles_[role] != format::TextId{0}) ++role;
  if (role == 255) return;
  roles_[role++] = wanted;
  const auto memory = static_cast<std::uint8_t>(memory_of(record));
  for (unsigned table = 0; table < Live::kTables; ++table)
    if (LedgerBlock* const block = live_.find(label.address, memory, table); block != nullptr)
      block->role = role;
  const std::uint32_t i = mappings_.from(memory, label.address);
  if (i < mappings_.size() && mappings_[i].memory == memory && mappings_[i].address == label.address)
    mappings_[i].role = role;
}

void Ledger::reserve(unsigned memory, std::uint64_t bytes) {
  if (memory >= kMemories) memory = kMemories - 1;
  if (memory >= seen_) seen_ = memory + 1;
  std::int64_t& level = levels_[memory][reserved];
  level = static_cast<std::int64_t>(bytes);
  if (level > highs_[memory][reserved]) highs_[memory][reserved] = level;
}

} // namespace memtrace::rollup
