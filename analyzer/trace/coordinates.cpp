// Purpose: the place of a rank in the grid of its job, such as pp 0, dp 1, tp 3.
#include "analyzer/trace/coordinates.h"

#include <initializer_list>

#include "preload/format/setting_values.h"

namespace memtrace::trace {
namespace {

// Returns the axes of "pp=2,dp=4", each with its number; none if the text has another form.
Coordinates axes_of(const std::string& text, std::uint32_t least) {
  format::GridAxis axes[format::kMostAxes];
  const std::size_t count = format::parse_axes(text.c_str(), least, axes);
  Coordinates out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back({std::string(axes[i].name, axes[i].name_bytes), axes[i].number});
  return out;
}

bool fits(std::uint64_t ranks, const Facts& facts) {
  return facts.world_size == 0 ? facts.rank < ranks : ranks == facts.world_size;
}

} // namespace

Coordinates coordinates_of(const Facts& facts) {
  if (facts.rank == kNoRank) return {};
  const std::string grid = facts.note("ranks").value_or("");
  const std::uint64_t ranks = format::parse_grid(grid.c_str());
  if (ranks == 0 || !fits(ranks, facts)) return axes_of(facts.note("coordinates").value_or(""), 0);
  Coordinates out = axes_of(grid, 1);
  std::uint32_t rest = facts.rank;
  for (auto axis = out.rbegin(); axis != out.rend(); ++axis) {
    const std::uint32_t size = axis->place;
    axis->place = rest % size;
    rest /= size;
  }
  return out;
}

std::uint32_t stage_of(const Coordinates& coordinates) {
  for (const Coordinate& one : coordinates)
    for (const char* const name : {"pp", "pipe", "pipeline", "stage", "pipeline_parallel"})
      if (one.axis == name) return one.place;
  return 0;
}

std::string text_of(const Coordinates& coordinates) {
  std::string out;
  for (const Coordinate& one : coordinates)
    out += (out.empty() ? "" : ", ") + one.axis + " " + std::to_string(one.place);
  return out;
}

std::string grid_misfit(const Facts& facts) {
  const std::string grid = facts.note("ranks").value_or("");
  const std::uint64_t ranks = format::parse_grid(grid.c_str());
  if (facts.rank == kNoRank || ranks == 0 || fits(ranks, facts)) return "";
  const std::uint32_t has = facts.world_size != 0 ? facts.world_size : facts.rank + 1;
  return "MEMTRACE_RANKS=" + grid + ": the grid has " + std::to_string(ranks) + " ranks, the job has " +
         std::to_string(has) + ": it is not used";
}

} // namespace memtrace::trace
