// Purpose: the rows that may still change, and their packing once their step is over.
#include "analyzer/attribute/growing_rows.h"

#include <algorithm>

namespace memtrace::replay {

GrowingRow& GrowingRows::row(PathId path, Step step, Step current) {
  if (recent_ != nullptr && recent_->row.path == path && recent_->row.step == step) return *recent_;
  auto at = growing_.find({path, step});
  if (at == growing_.end()) {
    if (growing_.size() >= most_growing_) pack_earlier(current);
    at = growing_.try_emplace({path, step}).first;
    at->second.row.path = path;
    at->second.row.step = step;
    at->second.row.began = ++rows_begun_;
  }
  recent_ = &at->second;
  return *recent_;
}

// Packs the rows of steps that are over. If such a row continues after all, take_packed() joins its parts.
void GrowingRows::pack_earlier(Step current) {
  std::vector<const Row*> over;
  for (const auto& [key, growing] : growing_) {
    if (growing.open == 0 && key.second != current) over.push_back(&growing.row);
  }
  pack(over);
  if (thinning_.is_due(packed_)) thinning_.thin(packed_);
  for (const Row* row : over) growing_.erase({row->path, row->step});
  most_growing_ = std::max(kFewestRows, 2 * growing_.size());
  recent_ = nullptr;
}

void GrowingRows::pack(std::vector<const Row*>& rows) {
  std::sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) { return a->began < b->began; });
  for (const Row* row : rows) {
    const auto [last, fresh] = last_packed_.try_emplace(row->path, row->step);
    if (!fresh && row->step <= last->second) parts_ = true;
    last->second = std::max(last->second, row->step);
    packed_.add(*row);
  }
}

void GrowingRows::join_parts() {
  std::map<std::pair<PathId, Step>, Row> whole;
  for (const Row& part : packed_) {
    const auto [at, fresh] = whole.try_emplace({part.path, part.step}, part);
    if (!fresh) join(at->second, part);
  }
  std::vector<const Row*> joined;
  joined.reserve(whole.size());
  for (const auto& [key, row] : whole) joined.push_back(&row);
  packed_ = {};
  pack(joined);
}

Rows GrowingRows::take_packed() && {
  std::vector<const Row*> rest;
  for (const auto& [key, growing] : growing_) rest.push_back(&growing.row);
  pack(rest);
  if (parts_) join_parts();
  return std::move(packed_);
}

} // namespace memtrace::replay
