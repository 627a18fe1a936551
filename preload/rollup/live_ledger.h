// Purpose: the live blocks and their sums, by the rules of analyzer/replay/live_blocks.h.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include "preload/rollup/live_table.h"
#include "preload/rollup/mapping_table.h"
#include "preload/rollup/step_rows.h"

namespace memtrace::rollup {

enum LevelKind : unsigned { live, tensor, reserved, kMeasures };
using Levels = std::int64_t[kMemories][kMeasures];

// Returns the memory of a record. Memories from kMemories - 1 on share one number.
inline unsigned memory_of(const format::RingRecord& record) {
  const unsigned memory = record.flags >> format::kMemoryShift;
  return memory < kMemories ? memory : kMemories - 1;
}

class Ledger {
 public:
  struct EarlyDeath { // a death that came before its birth
    std::uint64_t address;
    std::uint64_t given; // bytes; 0: a sampled block, which is not in a level
    format::Stamp stamp;
    std::uint8_t memory;
    std::uint8_t table; // Live::kTables: a mapping
    std::uint8_t kind;
    bool tensor;
  };
  // A block or mapping that a newer one displaced, so it is not in a level any more. The record of its end
  // comes late, because its thread did not get the CPU.
  struct DisplacedBlock {
    LedgerBlock block;
    format::Stamp by; // birth of the newer one; 0: the entry is empty
    bool left_at(format::Stamp death) const { return block.birth <= death && death < by; }
  };

  void start(bool forked, std::int64_t live_bytes, std::int64_t tensor_bytes);

  // docs/trace-format.md lists the fields of the records. `place`: the phase and step of the record's thread.
  // For a birth or a death that comes soon. Call expect_young() first, and expect_old() some records later.
  [[gnu::always_inline]] void expect_young(const format::RingRecord& record) const {
    live_.expect_young(record.as<format::BlockExtent>().address, static_cast<std::uint8_t>(memory_of(record)),
                       Live::table_of(record.kind));
  }
  [[gnu::always_inline]] void expect_old(const format::RingRecord& record) const {
    live_.expect_old(record.as<format::BlockExtent>().address, static_cast<std::uint8_t>(memory_of(record)),
                     Live::table_of(record.kind));
  }
  void birth(const Host& host, const format::RingRecord& record, const PhasePlace& place, FileRows& file);
  void death(const Host& host, const format::RingRecord& record, const PhasePlace& place);
  // mremap comes in two halves: the real call lies between them, and other threads may unmap the new place
  // before the second half. lift() removes the mapping from its old place and turns `record` into the half that
  // put_down() takes. It returns false if there was no mapping.
  bool lift(const Host& host, format::RingRecord& record, const PhasePlace& place);
  void put_down(const Host& host, const format::RingRecord& record, const PhasePlace& place, FileRows& file);
  void protect(const Host& host, const format::RingRecord& record, const PhasePlace& place, FileRows& file);
  void small(const Host& host, const format::SmallTotals& flows, const PhasePlace& place);
  void label(const format::RingRecord& record);
  void reserve(unsigned memory, std::uint64_t bytes);

  // Sets the numbers of births and deaths that the recorder dropped so far. The flows of small blocks have
  // their bytes.
  void lost(std::uint64_t births, std::uint64_t deaths) {
    lost_births_ = births;
    lost_deaths_ = deaths;
  }

  // If `is`, records that are earlier than the next ones are still missing, so deaths may come before their
  // births. If not, all records are there, so a death without a birth never had one.
  void ragged(bool is);

  // The memories that were used have numbers below seen(). highs(): the highest levels since the last call of
  // reset_high_water().
  const Levels& levels() const { return levels_; }
  const Levels& highs() const { return highs_; }
  void reset_high_water() {
    for (unsigned memory = 0; memory < seen_; ++memory)
      for (unsigned measure = 0; measure < kMeasures; ++measure)
        highs_[memory][measure] = levels_[memory][measure];
  }
  unsigned seen() const { return seen_; }
  std::int64_t small_level() const { return small_; }
  std::int64_t small_blocks() const { return small_blocks_; }
  std::int64_t inherited() const { return inherited_live_; } // inherited bytes that are still alive

  template <class Take>
  void each(Take take) {
    live_.each(take);
    for (std::uint32_t i = 0; i < mappings_.size(); ++i) take(mappings_[i]);
  }
  // Gives `take` the deaths whose births are still missing.
  template <class Take>
  void each_orphan(Take take) const {
    for (std::uint32_t i = 0; i < orphans_used_; ++i) take(orphans_[i]);
  }
  template <class Take>
  void each_displaced(Take take) const {
    for (const DisplacedBlock& one : displaced_)
      if (one.by != 0) take(one);
    for (const DisplacedBlock& one : covered_)
      if (one.by != 0) take(one);
  }
  std::uint64_t unlisted() const { return unlisted_; }
  format::TextId role(const LedgerBlock& block) const {
    return block.role == 0 ? format::TextId{0} : roles_[block.role - 1u];
  }
  StepRows& rows() { return rows_; }
  std::size_t bytes() const { return mappings_.bytes() + rows_.bytes() + sizeof *this; }
  std::size_t live_bytes() const { return live_.bytes(); }

 private:
  static constexpr std::uint32_t kOrphans = 256;
  static constexpr std::uint32_t kDisplaced = 256;
  static constexpr std::uint32_t kCovered = 64;
  static_assert(kOrphans <= format::kMostLate && kDisplaced + kCovered <= format::kMostLate);

  [[gnu::always_inline]] inline LedgerBlock block_of(const format::RingRecord& record,
                                                     const PhasePlace& place) const;
  void enter(const Host& host, const LedgerBlock& block, FileRows& file);
  void leave(const Host& host, const LedgerBlock& block, const PhasePlace& place);
  void raise(unsigned memory);
  void map(const Host& host, LedgerBlock block, FileRows& file);
  void unmap(const Host& host, const format::RingRecord& record, const PhasePlace& place);
  std::uint64_t cut(const Host& host, std::uint8_t memory, std::uint64_t from, std::uint64_t to,
                    format::Stamp death, const PhasePlace& place);
  void unknown_death(unsigned memory, std::uint8_t kind, bool is_tensor, std::uint64_t bytes);
  bool adopt(const LedgerBlock& block, unsigned table);
  bool keep_orphan(const EarlyDeath& orphan);
  void unknown_unmap(std::uint8_t kind, bool is_tensor, std::uint64_t bytes);
  void note_displaced(const LedgerBlock& block, format::Stamp by);
  bool forget_displaced(std::uint64_t address, std::uint8_t memory, unsigned table, format::Stamp death);
  void cover(const LedgerBlock& block);
  const LedgerBlock* covered(std::uint64_t address, format::Stamp death) const;
  void forget_covered(std::uint64_t from, std::uint64_t to, format::Stamp death);
  std::uint64_t never_mapped(std::uint8_t memory, std::uint64_t from, std::uint64_t to,
                             format::Stamp death) const;
  void displace(const Host& host, const LedgerBlock& block, const PhasePlace& place);

  Live live_;
  Mappings mappings_;
  StepRows rows_;
  Levels levels_ = {};
  Levels highs_ = {};
  unsigned seen_ = 0;
  std::int64_t small_ = 0;
  std::int64_t small_blocks_ = 0;
  bool forked_ = false;
  std::int64_t inherited_live_ = 0; // inherited bytes that are still alive
  std::int64_t inherited_tensor_ = 0;
  std::uint64_t unlisted_ = 0;    // blocks for which there was no room
  std::uint64_t lost_births_ = 0; // dropped by the recorder
  std::uint64_t lost_deaths_ = 0;
  std::uint64_t found_births_ = 0; // lost births whose death came
  std::uint64_t found_deaths_ = 0; // lost deaths whose address was allocated again
  bool ragged_ = false;
  std::uint32_t orphans_used_ = 0;
  EarlyDeath orphans_[kOrphans] = {};
  std::uint32_t displaced_used_ = 0; // of blocks; a new entry replaces the oldest
  std::uint32_t displaced_now_ = 0;
  DisplacedBlock displaced_[kDisplaced] = {};
  std::uint32_t covered_used_ = 0; // of mappings; a new entry replaces the oldest
  DisplacedBlock covered_[kCovered] = {};
  format::TextId roles_[255] = {};
};

} // namespace memtrace::rollup
