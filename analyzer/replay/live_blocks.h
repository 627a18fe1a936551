// Purpose: the blocks that are alive, and the levels of each memory.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyzer/replay/block.h"
#include "analyzer/replay/block_table.h"
#include "analyzer/trace/process_facts.h"

namespace memtrace::replay {

class BlockWatcher {
 public:
  virtual ~BlockWatcher() = default;
  virtual void born(const Block&) {}
  virtual void labelled(const Block&) {} // its label is new
  // The block died at `event`. If a part of a mapping was unmapped, the block describes this part.
  virtual void died(const Block&, const trace::Event&) {}
  virtual void flow(MemoryId, std::uint64_t allocated, std::uint64_t freed, std::uint64_t allocations) {
    static_cast<void>(allocated), static_cast<void>(freed), static_cast<void>(allocations);
  }
};

class LiveBlocks {
 public:
  LiveBlocks(const trace::Definitions& definitions, const trace::Facts& facts);

  // Takes birth, death, move of a mapping, protect, counters and label. After a gap between windows it takes
  // `window`, which discards all state, then `level`, `held`, `displaced` and `early_death`. Ignores all other
  // events.
  // Events are ordered by stamp, except for late records of a window: they may be older than the state of the
  // snapshot.
  void apply(const trace::Event& event, const PhasePosition& place, BlockWatcher& watcher);

  // Loads into the cache what apply() needs first. Call it some events before.
  void expect(const trace::Event& event) const {
    if (event.type == format::EventType::birth || event.type == format::EventType::death)
      tables_[table_of(event.kind)].expect(static_cast<MemoryId>(event.flags >> format::kMemoryShift),
                                           event.as<format::BlockExtent>().address);
  }

  const Level& level(MemoryId memory) const { return levels_[memory]; }
  std::uint64_t unknown_deaths() const { return unknown_deaths_; }

  // Returns the bytes of memory that a copy takes, about.
  // True if a snapshot has deaths whose births may still come.
  bool awaits_births() const { return !early_deaths_.empty(); }
  std::size_t bytes() const {
    constexpr std::size_t kNode = 48; // of a map, beside its value
    std::size_t out = sizeof *this + (mappings_.size() + lifted_.size()) * (sizeof(Block) + kNode) +
                      displaced_.size() * sizeof(Displaced) + early_deaths_.size() * sizeof(trace::Event) +
                      (levels_.size() + inherited_.size()) * sizeof(Level);
    for (const auto& table : tables_) out += table.bytes();
    return out;
  }

  template <typename Take>
  void each_alive(Take take) const {
    for (const auto& table : tables_) {
      table.each(take);
    }
    for (const auto& [key, block] : mappings_) {
      if (block.counted || block.tensor) take(block);
    }
  }

 private:
  // Blocks of different tables may share an address: a tensor inside a driver's segment, or a registered heap
  // block.
  enum TableIndex { allocated, inside, registered, sampled, kTables };
  struct BlockKey {
    MemoryId memory;
    std::uint64_t address;
    bool operator==(const BlockKey&) const = default;
    bool operator<(const BlockKey& other) const {
      return memory != other.memory ? memory < other.memory : address < other.address;
    }
  };
  static TableIndex table_of(format::Kind kind) {
    return kind == format::Kind::none ? inside : kind == format::Kind::registered ? registered : allocated;
  }
  template <class Listed>
  Block listed(const trace::Event& event, const PhasePosition& place) const;

  void birth(const trace::Event& event, const PhasePosition& place, BlockWatcher& watcher);
  bool plain_birth(const trace::Event& event, const PhasePosition& place, BlockWatcher& watcher);
  void map(Block block, const trace::Event& event, BlockWatcher& watcher);
  void lift(const trace::Event& event, BlockWatcher& watcher);
  void put_down(const trace::Event& event, const PhasePosition& place, BlockWatcher& watcher);
  void death(const trace::Event& event, BlockWatcher& watcher);
  void unmap(const trace::Event& event, BlockWatcher& watcher);
  void pass_by(const Block& block, const trace::Event& event, BlockWatcher& watcher);
  void displace(const Block& block, const trace::Event& event, BlockWatcher& watcher);
  bool is_dead(const Block& block);
  bool forget_displaced(const trace::Event& death);
  const Block* mapped_at(std::uint64_t address, format::Stamp stamp) const;
  std::uint64_t never_mapped(MemoryId memory, std::uint64_t from, std::uint64_t to, format::Stamp death) const;
  void settle_early_deaths(const trace::Event& event);
  bool dies_unlisted(const trace::Event& event, BlockWatcher& watcher);
  void unknown_death(const trace::Event& event, std::uint64_t bytes);
  void protect(const trace::Event& event, const PhasePosition& place, BlockWatcher& watcher);
  void counters(const trace::Event& event, BlockWatcher& watcher);
  void label(const trace::Event& event, BlockWatcher& watcher);
  MemoryId labelled_memory(MemoryId said, std::uint64_t address);
  void lock(const Block& pinned);
  void restart();
  void level(const trace::Event& event);
  void held(const trace::Event& event, const PhasePosition& place, BlockWatcher& watcher);
  void displaced(const trace::Event& event);
  void early_death(const trace::Event& event);
  void sampled_birth(const Block& block, const trace::Event& event, BlockWatcher& watcher);
  void sampled_death(const trace::Event& event, BlockWatcher& watcher);
  std::uint64_t cut(MemoryId memory, std::uint64_t from, std::uint64_t to, const trace::Event& event,
                    BlockWatcher& watcher);
  void split(MemoryId memory, std::uint64_t at);
  void enter(const Block& block, BlockWatcher& watcher);
  void leave(const Block& block, const trace::Event& event, BlockWatcher& watcher);

  const trace::Definitions& definitions_;
  BlockTable<Block> tables_[kTables];
  std::map<BlockKey, Block> mappings_;    // by memory, then address; disjoint
  std::map<std::uint32_t, Block> lifted_; // by thread: the mapping that its mremap took from its old place
  // A block or mapping that is not in any level now. The record of its end comes late.
  struct Displaced {
    Block block;
    format::Stamp by; // birth of the newer one at its place
    bool left_at(format::Stamp death) const { return block.birth_stamp <= death && death < by; }
  };
  std::vector<Displaced> displaced_;
  std::vector<trace::Event> early_deaths_; // of a snapshot; the births come later
  std::vector<Level> levels_;
  // Bytes of live blocks without a birth record: those of a parent, or those that a snapshot did not list.
  std::vector<Level> inherited_;
  bool inherits_;
  // Numbers of births and deaths that the recorder dropped. The flows of small blocks have their bytes.
  std::uint64_t lost_births_;
  std::uint64_t lost_deaths_;
  std::uint64_t unknown_deaths_ = 0;
};

} // namespace memtrace::replay
