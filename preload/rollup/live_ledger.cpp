// Purpose: what is alive and how much that is, by the rules of analyzer/replay/live_blocks.h.
// Runs: in the drain and, when its ring is full, on the program's thread.
#include "preload/rollup/live_ledger.h"

namespace memtrace::rollup {

using format::low;
using format::RingRecord;

namespace {

unsigned memory_of(const RingRecord& record) {
  const unsigned memory = record.flags >> format::kMemoryShift;
  return memory < kMemories ? memory : kMemories - 1;
}

// Modulo 2^64: a program's mistake may make any sum.
void grow(std::int64_t& level, std::uint64_t bytes) {
  level = static_cast<std::int64_t>(static_cast<std::uint64_t>(level) + bytes);
}
void shrink(std::int64_t& level, std::uint64_t bytes) {
  level = static_cast<std::int64_t>(static_cast<std::uint64_t>(level) - bytes);
}
// At most what there is.
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
  rest();
}

void Ledger::raise(unsigned memory) {
  if (memory >= seen_) seen_ = memory + 1;
  for (unsigned i = 0; i < reserved; ++i)
    if (levels_[memory][i] > highs_[memory][i]) highs_[memory][i] = levels_[memory][i];
}

Block Ledger::block_of(const RingRecord& record, const Place& place) const {
  Block block{};
  block.address = record.word[0];
  block.given = record.word[1];
  block.asked = record.word[2];
  block.birth = record.stamp;
  block.stack = low(record.word[3]);
  block.path = place.path;
  block.step = place.step;
  block.kind = record.kind;
  block.memory = static_cast<std::uint8_t>(memory_of(record));
  block.state = Block::kUsed;
  if (record.flags & format::kSampled) {
    block.state |= Block::kSampled; // in the small flows already
    return block;
  }
  if (record.flags & format::kTensor) block.state |= Block::kTensor;
  if (record.flags & format::kArena) block.state |= Block::kArena;
  if (is_memory(record.kind) && (record.flags & format::kNoAccess) == 0) block.state |= Block::kCounted;
  return block;
}

void Ledger::enter(const Host& host, const Block& block, FileRows& file) {
  grow(levels_[block.memory][tensor], block.tensor_bytes());
  if (block.is(Block::kCounted)) {
    grow(levels_[block.memory][live], block.given);
    rows_.flow(host, {block.path, block.step}, block.memory, block.given, 0, 1);
  }
  if (block.state & (Block::kCounted | Block::kTensor | Block::kSampled)) rows_.born(host, block, file);
}

void Ledger::leave(const Host& host, const Block& block, const Place& place) {
  shrink(levels_[block.memory][tensor], block.tensor_bytes());
  if (!block.is(Block::kCounted)) return;
  shrink(levels_[block.memory][live], block.given);
  rows_.flow(host, place, block.memory, 0, block.given, 0);
}

// Did its death come before it? It leaves nothing but its flows then.
bool Ledger::adopt(const Block& block, unsigned table) {
  for (std::uint32_t i = 0; i < orphans_used_; ++i) {
    const Orphan& orphan = orphans_[i];
    if (orphan.address != block.address || orphan.memory != block.memory || orphan.table != table ||
        orphan.stamp < block.birth)
      continue;
    orphans_[i] = orphans_[--orphans_used_];
    return true;
  }
  return false;
}

void Ledger::note_displaced(const Block& block, format::Stamp by) {
  Displaced& place = displaced_[displaced_used_++ % kDisplaced];
  displaced_now_ += place.by == 0 ? 1 : 0;
  place = {block, by};
}

// True if a block that is in no level any more ended at `death`.
bool Ledger::forget_displaced(std::uint64_t address, std::uint8_t memory, unsigned table, format::Stamp death) {
  if (displaced_now_ == 0) return false;
  for (Displaced& one : displaced_) {
    if (one.block.address != address || !one.left_at(death) || one.block.memory != memory ||
        Live::table_of(one.block.kind) != table)
      continue;
    one = {};
    --displaced_now_;
    return true;
  }
  return false;
}

// If the recorder dropped its death, the flows have its bytes: the level fell when they came.
void Ledger::displace(const Host& host, const Block& block, const Place& place) {
  if (found_deaths_ >= lost_deaths_ || block.memory != 0) {
    leave(host, block, place);
    return;
  }
  ++found_deaths_;
  shrink(levels_[0][tensor], block.tensor_bytes());
}

void Ledger::birth(const Host& host, const RingRecord& record, const Place& place, FileRows& file) {
  Block block = block_of(record, place);
  if (is_mapping(record.kind)) {
    map(host, block, file);
    raise(block.memory);
    return;
  }
  Block* const before = live_.find(block.address, block.memory, Live::table_of(block.kind));
  const bool over = before != nullptr && before->birth > block.birth;
  if (over || (orphans_used_ != 0 && adopt(block, Live::table_of(block.kind)))) {
    if (over) note_displaced(block, before->birth);
    enter(host, block, file);
    leave(host, block, place);
  } else if (before != nullptr) { // whose death was lost, or comes late: a move says its only afterwards
    note_displaced(*before, block.birth);
    displace(host, *before, place);
    *before = block;
    enter(host, block, file);
  } else {
    if (!live_.add(host, block)) ++unlisted_;
    enter(host, block, file);
  }
  raise(block.memory);
}

void Ledger::death(const Host& host, const RingRecord& record, const Place& place) {
  if ((record.flags & format::kRange) != 0 || is_mapping(record.kind)) {
    unmap(host, record, place);
    return;
  }
  const unsigned table = Live::table_of(record.kind);
  const auto memory = static_cast<std::uint8_t>(memory_of(record));
  Block* const block = live_.find(record.word[0], memory, table);
  if (block != nullptr && block->birth <= record.stamp) {
    const Block gone = *block;
    live_.erase(block);
    leave(host, gone, place);
    return;
  }
  if (forget_displaced(record.word[0], memory, table, record.stamp)) return;
  const bool is_tensor = (record.flags & format::kTensor) != 0;
  const bool sampled = (record.flags & format::kSampled) != 0;
  const std::uint64_t given = sampled ? 0 : record.word[1];
  const bool kept = keep_orphan(
      {record.word[0], given, record.stamp, memory, static_cast<std::uint8_t>(table), record.kind, is_tensor});
  if (!kept && !sampled) unknown_death(memory, record.kind, is_tensor, given);
}

bool Ledger::keep_orphan(const Orphan& orphan) {
  if (!ragged_ || orphans_used_ == kOrphans) return false;
  orphans_[orphans_used_++] = orphan;
  return true;
}

void Ledger::ragged(bool is) {
  ragged_ = is;
  if (is) return;
  for (std::uint32_t i = 0; i < orphans_used_; ++i) {
    const Orphan& orphan = orphans_[i];
    if (orphan.table == Live::kTables) {
      unknown_unmap(orphan.kind, orphan.tensor, orphan.given);
    } else if (orphan.given != 0) {
      unknown_death(orphan.memory, orphan.kind, orphan.tensor, orphan.given);
    }
  }
  orphans_used_ = 0;
}

// A block for which there was no room, or that a forked child's parent had: by the size that the death says.
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

void Ledger::map(const Host& host, Block block, FileRows& file) {
  const std::uint64_t end = end_of(block.address, block.given);
  if (end == block.address) return;
  block.given = end - block.address;
  const Place place = {block.path, block.step};
  if (orphans_used_ != 0 && adopt(block, Live::kTables)) {
    enter(host, block, file);
    leave(host, block, place);
    return;
  }
  // MAP_FIXED: the new one lies over the old.
  cover(block);
  cut(host, block.memory, block.address, end, ~format::Stamp{0}, place);
  if (mappings_.add(host, block)) enter(host, block, file); // else it is as one that was never seen
}

// Keeps what of the host's mappings `block` will lie over.
void Ledger::cover(const Block& block) {
  if (block.memory != 0) return;
  const std::uint64_t end = end_of(block.address, block.given);
  for (std::uint32_t i = mappings_.from(0, block.address); i < mappings_.size(); ++i) {
    if (mappings_[i].memory != 0 || mappings_[i].address >= end) return;
    covered_[covered_used_++ % kCovered] = {mappings_[i], block.birth};
  }
}

// The mapping of the host that was at `address` until `death`, if a newer one covered it. nullptr: none.
const Block* Ledger::covered(std::uint64_t address, format::Stamp death) const {
  for (const Displaced& one : covered_)
    if (one.block.address <= address && address < end_of(one.block.address, one.block.given) &&
        one.left_at(death))
      return &one.block;
  return nullptr;
}

// The late record has come.
void Ledger::forget_covered(std::uint64_t from, std::uint64_t to, format::Stamp death) {
  if (covered_used_ == 0) return;
  for (Displaced& one : covered_)
    if (one.block.address < to && end_of(one.block.address, one.block.given) > from && one.left_at(death))
      one = {};
}

// Returns the bytes of [from, to) that no mapping has now, and none that a newer one covered had at `death`.
// Newer mappings may cover one piece by piece, and be gone themselves before the late death comes.
std::uint64_t Ledger::never_mapped(std::uint8_t memory, std::uint64_t from, std::uint64_t to,
                                   format::Stamp death) const {
  std::uint64_t unknown = 0;
  while (from < to) {
    std::uint64_t known_to = from, next = to;
    const auto see = [&](const Block& block) {
      const std::uint64_t end = end_of(block.address, block.given);
      if (block.memory != memory || end <= from) return;
      if (block.address <= from && end > known_to) known_to = end;
      if (block.address > from && block.address < next) next = block.address;
    };
    for (std::uint32_t i = mappings_.from(memory, from); i < mappings_.size() && mappings_[i].memory == memory;
         ++i) {
      see(mappings_[i]);
      if (mappings_[i].address > from) break;
    }
    for (const Displaced& one : covered_)
      if (one.left_at(death)) see(one.block);
    if (known_to == from) unknown += next - from;
    from = known_to != from ? known_to : next;
  }
  return unknown;
}

// Ends what was mapped in [from, to) before `death`. Bytes that are or were.
std::uint64_t Ledger::cut(const Host& host, std::uint8_t memory, std::uint64_t from, std::uint64_t to,
                          format::Stamp death, const Place& place) {
  mappings_.split(host, memory, from);
  mappings_.split(host, memory, to);
  std::uint64_t bytes = 0;
  for (std::uint32_t i = mappings_.from(memory, from); i < mappings_.size();) {
    const Block block = mappings_[i];
    if (block.memory != memory || block.address >= to) break;
    bytes += block.given;
    if (block.address < from || block.birth > death) { // mapped anew before this was said
      ++i;
      continue;
    }
    mappings_.erase(i);
    leave(host, block, place);
  }
  return bytes;
}

void Ledger::unmap(const Host& host, const RingRecord& record, const Place& place) {
  const auto memory = static_cast<std::uint8_t>(memory_of(record));
  const std::uint64_t from = record.word[0];
  std::uint64_t bytes = record.word[1];
  if (bytes == 0) { // of unknown size: all that was mapped there at once
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

// Of mappings none is unlisted: what is not known of them was never counted, or is a parent's.
void Ledger::unknown_unmap(std::uint8_t kind, bool is_tensor, std::uint64_t bytes) {
  if (!forked_) return;
  if (is_memory(kind)) reduce(inherited_live_, levels_[0][live], bytes);
  if (is_tensor) reduce(inherited_tensor_, levels_[0][tensor], bytes);
}

bool Ledger::lift(const Host& host, RingRecord& record, const Place& place) {
  const std::uint64_t from = record.word[0], before = record.word[4];
  const std::uint32_t i = mappings_.from(0, from);
  const bool there = i != mappings_.size() && mappings_[i].memory == 0 && mappings_[i].address <= from &&
                     mappings_[i].birth <= record.stamp;
  const Block* const found = there ? &mappings_[i] : covered(from, record.stamp);
  if (found == nullptr) return false;
  record.kind = found->kind;
  record.word[4] = format::halves(found->state, found->role);
  if (before != 0) {
    cut(host, 0, from, end_of(from, before), record.stamp, place);
    forget_covered(from, end_of(from, before), record.stamp);
  }
  record.stamp += format::high(record.word[5]);
  return true;
}

// The mapping keeps what it is, and its site becomes the one that moved or grew it.
void Ledger::put_down(const Host& host, const RingRecord& record, const Place& place, FileRows& file) {
  Block block{};
  block.address = record.word[1];
  block.given = record.word[2];
  block.asked = record.word[3];
  block.stack = low(record.word[5]);
  block.birth = record.stamp;
  block.path = place.path;
  block.step = place.step;
  block.kind = record.kind;
  block.state = static_cast<std::uint8_t>(low(record.word[4]));
  block.role = static_cast<std::uint8_t>(format::high(record.word[4]));
  map(host, block, file);
  raise(0);
}

// Opening a reservation is where its memory begins, closing it is where it ends.
void Ledger::protect(const Host& host, const RingRecord& record, const Place& place, FileRows& file) {
  const std::uint64_t from = record.word[0];
  const std::uint64_t to = end_of(from, record.word[1]);
  const bool access = low(record.word[2]) != 0;
  mappings_.split(host, 0, from);
  mappings_.split(host, 0, to);
  for (std::uint32_t i = mappings_.from(0, from); i < mappings_.size(); ++i) {
    Block& block = mappings_[i];
    if (block.memory != 0 || block.address >= to) break;
    if (block.address < from || !is_memory(block.kind) || block.is(Block::kCounted) == access) continue;
    if (access) {
      block.state |= Block::kCounted;
      block.path = place.path;
      block.step = place.step;
      block.birth = record.stamp;
      enter(host, block, file);
    } else {
      leave(host, block, place);
      block.state = static_cast<std::uint8_t>(block.state & ~Block::kCounted);
    }
  }
  raise(0);
}

void Ledger::small(const Host& host, const format::SmallTotals& flows, const Place& place) {
  grow(levels_[0][live], flows.allocated - flows.freed);
  grow(small_, flows.allocated - flows.freed);
  grow(small_blocks_, flows.births - flows.deaths);
  rows_.flow(host, place, 0, flows.allocated, flows.freed, flows.births);
  raise(0);
}

void Ledger::label(const RingRecord& record) {
  const format::TextId wanted{low(record.word[2])};
  std::uint8_t role = 0;
  while (role < 255 && roles_[role] != wanted && roles_[role] != format::TextId{0}) ++role;
  if (role == 255) return;
  roles_[role++] = wanted;
  const auto memory = static_cast<std::uint8_t>(memory_of(record));
  for (unsigned table = 0; table < Live::kTables; ++table)
    if (Block* const block = live_.find(record.word[0], memory, table); block != nullptr) block->role = role;
  const std::uint32_t i = mappings_.from(memory, record.word[0]);
  if (i < mappings_.size() && mappings_[i].memory == memory && mappings_[i].address == record.word[0])
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
