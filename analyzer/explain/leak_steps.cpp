// Purpose: selects the steps that show a leak, and the instant to look at live blocks.
#include "analyzer/explain/leak_steps.h"

#include <algorithm>

namespace memtrace::report {

LeakSteps leak_steps(const replay::Account& account) {
  const auto first = static_cast<std::int64_t>(account.first_update);
  return {std::max<std::int64_t>(first, 0) + 1, static_cast<std::int64_t>(account.last_step) - 1};
}

std::optional<replay::Instant> leak_instant(const replay::Account& account, replay::MemoryId memory) {
  if (leak_steps(account).count() < kFewestSteps) return std::nullopt;
  return highest_in(account, account.last_step, memory,
                    memory == 0 ? replay::Measure::live : replay::Measure::tensor);
}

std::optional<replay::Instant> highest_in(const replay::Account& account, replay::Step step,
                                          replay::MemoryId memory, replay::Measure measure) {
  std::optional<replay::Instant> out;
  std::int64_t highest = 0;
  if (step == replay::Step::none) return out;
  for (const replay::Row& row : account.rows) {
    if (row.step != step || row.count == 0) continue;
    const replay::MemoryRow& of = row.of(memory);
    const replay::Figures& figures = measure == replay::Measure::live ? of.live : of.tensor;
    if (figures.peak <= highest) continue;
    highest = figures.peak;
    out = replay::Instant{memory, measure, figures.peak_at};
  }
  return out;
}

replay::Instant end_instant(const replay::Account& account, replay::MemoryId memory, replay::Measure measure) {
  constexpr trace::Ordinal kAfterAll = ~trace::Ordinal{0} - 1;
  return highest_in(account, account.last_step, memory, measure)
      .value_or(replay::Instant{memory, measure, kAfterAll});
}

} // namespace memtrace::report
