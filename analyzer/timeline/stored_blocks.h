// Purpose: what a timeline stores of blocks: their groups, births, deaths and live sets.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/timeline/band.h"
#include "analyzer/timeline/phase_spans.h"
#include "analyzer/timeline/row_windows.h"

namespace memtrace::replay {

// What a page shows of a block, without the step of its birth: so a training run has few of them.
struct PageGroup {
  format::StackId stack{};
  format::Kind kind{};
  Role role{};
  bool tensor = false;
  bool sampled = false; // its bytes are estimates, and in no level
  NameId phase{};       // of birth
  format::TextId name{};
  MemoryId memory = 0;
  Band band{};
};

// Blocks of one group and one size.
struct BlockClass {
  std::uint32_t group = 0;
  MemoryId memory = 0;
  std::uint64_t given = 0;  // bytes in `live`; of a sampled block: an estimate
  std::uint64_t tensor = 0; // bytes in `tensor`
};

inline constexpr std::uint32_t kOlder = ~std::uint32_t{0};

struct BlockRow {
  format::Stamp stamp = 0;
  std::uint32_t klass = 0; // 0: no block. Only bytes without a row changed
  std::uint32_t ref =
      0; // 0: a birth; kOlder: a death of a block older than the window; else rows since the birth
  std::int64_t small = 0; // change of the host's `live` by blocks without a row, since the row before
};

// What is alive at one instant: classes and numbers of blocks.
struct LiveSet {
  trace::Ordinal at = 0;                                       // just after this event
  std::vector<std::pair<std::uint32_t, std::uint32_t>> blocks; // by class, ascending
  std::vector<std::int64_t> levels;                            // by lane
};

struct RowSpan {
  RowWindow window;
  std::size_t first_row = 0, rows = 0;
  std::size_t set = 0; // what was alive before the first row
};

struct BlockRows {
  std::vector<PageGroup> groups;
  std::vector<BlockClass> classes; // the first one is not a block
  std::vector<BlockRow> rows;
  std::map<trace::Ordinal, format::Stamp>
      exact; // by exact event in a window: the time of the last row until it
  std::vector<RowSpan> spans;
  std::vector<LiveSet> sets;       // of the windows, then of the other instants
  std::vector<std::int64_t> bands; // by lane, band, bin: bytes at the bin's highest instant
  std::vector<PhaseSpan> phases;   // that touch a window
  std::uint64_t blocks = 0;        // births and deaths of the whole trace
};

} // namespace memtrace::replay
