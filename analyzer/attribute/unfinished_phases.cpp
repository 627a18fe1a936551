// Purpose: the phases that have not ended: levels at their entry, the highest levels since, and how both become
// a row when they end.
#include "analyzer/attribute/unfinished_phases.h"

#include <algorithm>
#include <utility>

#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::replay {
namespace {

// The levels of one measure in one phase that ended.
struct PhaseLevels {
  std::int64_t entry = 0;
  std::int64_t peak = 0;
  trace::Ordinal peak_at = 0;
};

PhaseLevels span(const HighestLevel& highest, std::int64_t entry, trace::Ordinal began) {
  const High<std::int64_t>* const high = highest.since(began);
  if (high != nullptr && high->value > entry) return {entry, high->value, high->at};
  return {entry, entry, began};
}

// The peak is known if the GPU was asked while most was live.
PhaseLevels used_span(const HighestLevels& highest, const MemoryLevels& entry, trace::Ordinal began) {
  const std::int64_t asked_before = entry.used == kNotShown ? kNotShown : entry.live;
  const std::int64_t asked_live = span(highest.asked, asked_before, began).peak;
  PhaseLevels out = span(highest.used, entry.used, began);
  if (asked_live < span(highest.live, entry.live, began).peak) out.peak = kNotShown;
  return out;
}

void merge(Figures& row, const PhaseLevels& span, std::int64_t exit, bool first) {
  const std::int64_t transient = wrapping_sub(span.peak, std::max(span.entry, exit));
  if (first) row.entry = span.entry;
  if (first || span.peak > row.peak) row.peak = span.peak, row.peak_at = span.peak_at;
  row.transient = first ? transient : std::max(row.transient, transient);
  row.exit = exit;
  row.net = wrapping_add(row.net, wrapping_sub(exit, span.entry));
}

// As merge(), for `used`. The peak of the row is known if that of each occurrence is.
void merge_used(Figures& row, const PhaseLevels& span, std::int64_t exit, bool first) {
  const std::int64_t peak = first ? span.peak : higher_use(row.peak, span.peak);
  merge(row, span, exit, first);
  row.peak = peak;
}

} // namespace

void UnfinishedPhases::see(MemoryId memory) {
  while (highest_.size() <= memory) {
    highest_.emplace_back();
    HighestLevels& fresh = highest_.back();
    for (HighestLevel* measure : {&fresh.live, &fresh.tensor, &fresh.reserved, &fresh.used, &fresh.asked})
      measure->begin();
  }
}

template <typename Take>
void UnfinishedPhases::each_highest(Take take) {
  for (HighestLevels& of : highest_)
    take(of.live), take(of.tensor), take(of.reserved), take(of.used), take(of.asked);
  take(resident_);
}

// Returns the events after which the open phases began, ascending.
std::vector<trace::Ordinal> UnfinishedPhases::begins() const {
  std::vector<trace::Ordinal> out;
  out.reserve(open_.size());
  for (const auto& [id, open] : open_) out.push_back(open.began);
  return out;
}

void UnfinishedPhases::begin(const Occurrence& occurrence, GrowingRow& row, trace::Ordinal now, Levels levels) {
  ++row.open;
  open_.emplace_hint(open_.end(), occurrence.id,
                     OpenPhase{&row, occurrence.again, now, {levels.begin(), levels.end()}});
  each_highest([this](auto& highest) {
    highest.begin();
    if (highest.size() > 2 * open_.size() + kSpare) highest.keep(begins());
  });
}

bool UnfinishedPhases::end(const Occurrence& occurrence, bool skipped, trace::Ordinal now, Levels levels) {
  const auto at = open_.find(occurrence.id);
  if (at == open_.end()) return false;
  end(at->second, skipped, now, levels);
  open_.erase(at);
  return true;
}

void UnfinishedPhases::end_all(trace::Ordinal now, Levels levels) {
  for (auto& [id, open] : open_) end(open, false, now, levels);
  open_.clear();
  each_highest([](auto& highest) { highest = {}; });
}

void UnfinishedPhases::mark_partial() {
  for (const auto& [id, open] : open_) open.row->row.partial = true;
}

void UnfinishedPhases::end(OpenPhase& open, bool skipped, trace::Ordinal now, Levels levels) {
  Row& row = open.row->row;
  --open.row->open;
  const bool first = row.count == 0;
  if (first) row.again = open.again, row.entered = open.began;
  row.left = now;
  if (first || !open.again) ++row.count;
  row.partial = row.partial || open.again;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    MemoryRow& figures = memory_row(row, static_cast<MemoryId>(i));
    // A memory that was first used inside the phase began at 0, before the first event.
    const bool known = i < open.memory.size();
    const MemoryLevels entry = known ? open.memory[i] : MemoryLevels{};
    const trace::Ordinal began = known ? open.began : 0;
    const HighestLevels& highest = highest_[i];
    merge(figures.live, span(highest.live, entry.live, began), levels[i].live, first);
    merge(figures.tensor, span(highest.tensor, entry.tensor, began), levels[i].tensor, first);
    merge(figures.reserved, span(highest.reserved, entry.reserved, began), levels[i].reserved, first);
    merge_used(figures.used, used_span(highest, entry, began), levels[i].used, first);
  }
  row.skipped = row.skipped || skipped;
  if (!open.resident) return;
  const Resident peak = resident_.since(open.began)->value;
  if (!row.rss) {
    row.rss = ResidentSpan{*open.resident, sampled_, peak};
    return;
  }
  row.rss->exit = sampled_;
  if (peak.sum() > row.rss->peak.sum()) row.rss->peak = peak;
}

void UnfinishedPhases::sample(const Resident& now, trace::Ordinal at) {
  // The open phases without a sample are those that began last.
  for (auto open = open_.rbegin(); open != open_.rend() && !open->second.resident; ++open)
    open->second.resident = now;
  resident_.raise(now, at);
  sampled_ = now;
}

} // namespace memtrace::replay
