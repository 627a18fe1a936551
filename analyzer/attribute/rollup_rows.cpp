// Purpose: rows of the steps whose events were dropped, beside the rows of the steps whose events are there.
#include "analyzer/attribute/rollup_rows.h"

#include <algorithm>
#include <tuple>

#include "analyzer/attribute/sample_error.h"

namespace memtrace::replay {
namespace {

using format::Extremes;
using format::Figure;
using format::kNoStepBucket;

// Selects the figure of Extremes that a row is made of: max or min.
using Pick = std::int64_t Extremes::*;

std::int64_t figure(const format::PhaseRow& row, Figure which, Pick pick) {
  return row.figures[static_cast<std::size_t>(which)].*pick;
}

// Returns a count. A damaged file may have a negative one: returns 0.
std::uint64_t amount(const format::PhaseRow& row, Figure which, Pick pick) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(figure(row, which, pick), 0));
}

Figures figures_at(const format::PhaseRow& row, Figure first, Pick pick) {
  const auto at = [&](int i) {
    return row.figures[static_cast<std::size_t>(first) + static_cast<std::size_t>(i)].*pick;
  };
  Figures out;
  out.entry = at(0);
  out.exit = at(1);
  out.peak = at(2);
  out.transient = at(3);
  out.net = at(4);
  return out;
}

Resident resident_at(const format::PhaseRow& row, std::size_t first, Pick pick) {
  const auto at = [&](std::size_t i) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(row.figures[first + i].*pick, 0));
  };
  return {at(0), at(1), at(2)};
}

void fill(Row& out, const format::PhaseRow& row, Pick pick) {
  if (row.memory == format::kResident) {
    out.rss = ResidentSpan{resident_at(row, 0, pick), resident_at(row, 3, pick), resident_at(row, 6, pick)};
    return;
  }
  const std::size_t memory = row.memory;
  if (out.memory.size() <= memory) out.memory.resize(memory + 1);
  MemoryRow& figures = out.memory[memory];
  figures.live = figures_at(row, Figure::live_entry, pick);
  figures.tensor = figures_at(row, Figure::tensor_entry, pick);
  figures.reserved = figures_at(row, Figure::reserved_entry, pick);
  figures.allocated = amount(row, Figure::allocated, pick);
  figures.freed = amount(row, Figure::freed, pick);
  figures.allocations = amount(row, Figure::allocations, pick);
  out.count = std::max(out.count, amount(row, Figure::count, pick));
}

// Merges two rows of one key. They occur if two texts are equal, or if the table is damaged.
void merge(format::PhaseRow& into, const format::PhaseRow& row) {
  into.skipped |= row.skipped;
  for (std::size_t i = 0; i < format::kFigures; ++i) {
    into.figures[i].max = std::max(into.figures[i].max, row.figures[i].max);
    into.figures[i].min = std::min(into.figures[i].min, row.figures[i].min);
  }
}

StepSpan span_of(std::uint64_t bucket, std::uint64_t width, const format::RollupHalf& half) {
  if (bucket == kNoStepBucket) return {};
  std::uint64_t first = bucket * width;
  std::uint64_t last = first + (width - 1);
  if (last >= half.first_step) first = std::max(first, half.first_step);
  last = std::min(last, std::max(half.last_step, first));
  return {static_cast<Step>(first), static_cast<Step>(last)};
}

// Returns the step among `steps` whose low 32 bits are `low`, or none.
Step step_in(const StepSpan& steps, std::uint32_t low) {
  if (steps.first == Step::none) return Step::none;
  const auto first = static_cast<std::uint64_t>(steps.first);
  const std::uint64_t step = first + static_cast<std::uint32_t>(low - static_cast<std::uint32_t>(first));
  return static_cast<Step>(step) <= steps.last ? static_cast<Step>(step) : Step::none;
}

class RowsReader {
 public:
  RowsReader(const trace::Trace& trace, Account& account)
      : trace_(trace), account_(account), rollup_(*trace.rollup()) {}

  Buckets read() && {
    out_.width = rollup_.half.phase_width;
    out_.refused = rollup_.refused;
    if (rollup_.half.first_step <= rollup_.half.last_step)
      out_.steps = {static_cast<Step>(rollup_.half.first_step), static_cast<Step>(rollup_.half.last_step)};
    phases();
    for (const format::SiteRow& row : rollup_.sites) site(row);
    return std::move(out_);
  }

 private:
  PathId path(std::uint32_t text) {
    const auto [at, fresh] = paths_.try_emplace(text, PathId::other);
    if (fresh && text != 0)
      at->second = account_.paths.joined(trace_.definitions().whole_text(format::TextId{text}));
    return at->second;
  }

  void phases() {
    std::map<std::tuple<Step, Step, PathId>, std::map<std::uint8_t, format::PhaseRow>> all;
    for (const format::PhaseRow& row : rollup_.phases) {
      const StepSpan steps = span_of(row.bucket, rollup_.half.phase_width, rollup_.half);
      auto& memories = all[{steps.first, steps.last, path(row.path)}];
      const auto [at, fresh] = memories.try_emplace(row.memory, row);
      if (!fresh) merge(at->second, row);
    }
    for (const auto& [key, memories] : all) {
      BucketRow out;
      out.steps = {std::get<0>(key), std::get<1>(key)};
      for (const auto& [memory, row] : memories) {
        fill(out.most, row, &Extremes::max);
        fill(out.least, row, &Extremes::min);
        out.most.skipped = out.most.skipped || row.skipped != 0;
      }
      for (Row* row : {&out.most, &out.least}) {
        row->path = std::get<2>(key);
        row->step = out.steps.first;
        row->memory.resize(out.most.memory.size());
        // `other` has no levels. Every other phase has levels, even if it did not end.
        row->count = row->path == PathId::other ? 0 : std::max<std::uint64_t>(row->count, 1);
      }
      out_.rows.push_back(std::move(out));
    }
  }

  void site(const format::SiteRow& row) {
    Births births;
    births.steps = span_of(row.bucket, rollup_.half.site_width, rollup_.half);
    births.stack = format::StackId{row.stack};
    births.kind = static_cast<format::Kind>(row.kind);
    births.tensor = (row.flags & format::kTensor) != 0;
    births.sampled = (row.flags & format::kSampled) != 0;
    births.count = row.count;
    births.bytes = row.sum;
    births.smallest = row.min;
    births.largest = row.max;
    if (row.largest_in != 0) births.largest_in = step_in(births.steps, row.largest_in - 1);
    // Each sampled block represents given / chance bytes. For small sizes this is nearly a straight line, so
    // the weight of the mean size is right for the sum.
    if (births.sampled) {
      const double mean = static_cast<double>(row.sum) / static_cast<double>(row.count);
      births.bytes = rounded(static_cast<double>(row.sum) / chance(mean, trace_.facts().sample_bytes));
    }
    out_.sites[{path(row.path), row.memory}].push_back(births);
  }

  const trace::Trace& trace_;
  Account& account_;
  const trace::RollupRows& rollup_;
  std::map<std::uint32_t, PathId> paths_;
  Buckets out_;
};

// True if the events of all steps of the row are there. They are exact, and a row may be off by some records.
bool has_events(const BucketRow& row, const Account& account) {
  if (row.steps.first == Step::none) return account.whole(Step::none);
  return std::any_of(account.detail.begin(), account.detail.end(), [&](const StepSpan& span) {
    return span.first <= row.steps.first && row.steps.last <= span.last;
  });
}

void raise(Peak& peak, const BucketRow& row, std::int64_t bytes) {
  if (bytes > peak.bytes) peak = {bytes, 0, 0, row.most.path, row.steps.first, row.steps};
}

} // namespace

std::span<const BucketRow> Buckets::of(Step step) const {
  const auto from = std::lower_bound(rows.begin(), rows.end(), step,
                                     [](const BucketRow& row, Step wanted) { return row.steps.last < wanted; });
  auto to = from;
  while (to != rows.end() && to->steps.first <= step && step <= to->steps.last) ++to;
  return {from, to};
}

const BucketRow* Buckets::find(Step step, PathId path) const {
  for (const BucketRow& row : of(step)) {
    if (row.most.path == path) return &row;
  }
  return nullptr;
}

std::vector<Births> Buckets::births(const BucketRow& row, MemoryId memory) const {
  const auto at = sites.find({row.most.path, memory});
  if (at == sites.end()) return {};
  std::map<std::tuple<format::StackId, format::Kind, bool, bool>, Births> all;
  for (const Births& one : at->second) {
    if (one.steps.last < row.steps.first || one.steps.first > row.steps.last) continue;
    const auto [into, fresh] = all.try_emplace({one.stack, one.kind, one.tensor, one.sampled}, one);
    if (fresh) continue;
    Births& sum = into->second;
    sum.steps = {std::min(sum.steps.first, one.steps.first), std::max(sum.steps.last, one.steps.last)};
    sum.count += one.count;
    sum.bytes += one.bytes;
    sum.smallest = std::min(sum.smallest, one.smallest);
    if (one.largest > sum.largest) sum.largest = one.largest, sum.largest_in = one.largest_in;
  }
  std::vector<Births> out;
  out.reserve(all.size());
  for (const auto& [key, births] : all) out.push_back(births);
  std::stable_sort(out.begin(), out.end(), [](const Births& a, const Births& b) { return a.bytes > b.bytes; });
  return out;
}

Buckets buckets(const trace::Trace& trace, Account& account) {
  if (trace.rollup() == nullptr) return {};
  Buckets out = RowsReader(trace, account).read();
  std::erase_if(out.rows, [&account](const BucketRow& row) { return has_events(row, account); });
  if (out.rows.empty() && out.refused == 0) return {};
  for (const BucketRow& row : out.rows) {
    if (row.most.count == 0) continue;
    for (std::size_t i = 0; i < row.most.memory.size(); ++i) {
      const MemoryRow& figures = row.most.memory[i];
      if (figures.live.peak == 0 && figures.tensor.peak == 0 && figures.reserved.peak == 0) continue;
      MemoryPeaks& peaks = account.peaks[static_cast<MemoryId>(i)];
      raise(peaks.live, row, figures.live.peak);
      raise(peaks.tensor, row, figures.tensor.peak);
      if (figures.reserved.peak != 0) {
        if (!peaks.reserved) peaks.reserved.emplace();
        raise(*peaks.reserved, row, figures.reserved.peak);
      }
    }
  }
  return out;
}

Coverage coverage(const Buckets& buckets, const Account& account) {
  Coverage out{buckets.steps, 0};
  if (out.steps.first == Step::none) return {{Step{0}, Step::none}, 0};
  for (const StepSpan& span : account.detail) {
    if (span.first <= out.steps.first && out.steps.first <= span.last) out.steps.first = next(span.last);
  }
  for (auto span = account.detail.rbegin(); span != account.detail.rend(); ++span) {
    if (span->first <= out.steps.last && out.steps.last <= span->last)
      out.steps.last = static_cast<Step>(static_cast<std::int64_t>(span->first) - 1);
  }
  Step counted = Step::none;
  for (const BucketRow& row : buckets.rows) {
    if (row.steps.first == Step::none || row.steps.first == counted) continue;
    counted = row.steps.first;
    ++out.buckets;
  }
  return out;
}

} // namespace memtrace::replay
