// Purpose: the rows that may still change, and their packing once their step is over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/attribute/phase_rows.h"
#include "analyzer/attribute/row_thinning.h"

namespace memtrace::replay {

struct GrowingRow { // a row that may still change
  Row row;
  std::size_t open = 0; // occurrences
};

// Returns the figures of a memory in a row, new ones if it has none.
inline MemoryRow& memory_row(Row& row, MemoryId memory) {
  if (row.memory.size() <= memory) row.memory.resize(std::size_t{memory} + 1);
  return row.memory[memory];
}

// The rows of a run, one for each path and step. Those of earlier steps are packed, because a row takes 400
// bytes until then.
class GrowingRows {
 public:
  // Returns the row of a path in a step. It stays in place while its step is the current one, or while one of
  // its occurrences is open.
  GrowingRow& row(PathId path, Step step, Step current);

  // Packs the rest, and returns all rows. Each path and step has one row.
  Rows take_packed() &&;

  RowThinning& thinning() { return thinning_; }

 private:
  void pack_earlier(Step current);
  void pack(std::vector<const Row*>& rows);
  void join_parts();

  static constexpr std::size_t kFewestRows = 64; // up to which nothing is packed
  std::map<std::pair<PathId, Step>, GrowingRow> growing_;
  std::size_t most_growing_ = kFewestRows;
  GrowingRow* recent_ = nullptr; // the row that was used last
  std::uint64_t rows_begun_ = 0;
  Rows packed_;
  RowThinning thinning_;
  std::unordered_map<PathId, Step> last_packed_;
  bool parts_ = false; // a row was packed in more than one part
};

} // namespace memtrace::replay
