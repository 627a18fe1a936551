// Purpose: bounds the error of a process's figures if its recorder dropped records.
#include "analyzer/explain/uncertainty.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

std::uint64_t clamp_to_zero(std::int64_t value) {
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}
std::uint64_t saturating_sub(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : 0;
}

std::string bytes(std::uint64_t value) {
  return size(static_cast<std::int64_t>(value));
}

std::string reasons(const trace::Losses& losses) {
  std::string text;
  for (const auto& [reason, number] : losses.events)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(reason), count(number));
  return text;
}

std::string range(const char* what, const Uncertainty& error) {
  if (error.below == 0 && error.above == 0) return fmt::format("{}: exact", what);
  return fmt::format("{}: up to {} less or {} more than shown", what, bytes(error.below), bytes(error.above));
}

std::uint64_t highest_of_host(const ProcessAnalysis& analysis) {
  const auto peak = analysis.account.peaks.find(replay::MemoryId{0});
  return peak == analysis.account.peaks.end() ? 0 : clamp_to_zero(peak->second.live.bytes);
}

// Returns the error from dropped windows. If their highest level is below the peak, the peak is in the retained
// windows.
Uncertainty dropped_error(const ProcessAnalysis& analysis) {
  const trace::RollupRows* const rollup = analysis.trace->rollup();
  if (rollup == nullptr) return {};
  const format::RollupHeader& header = rollup->header;
  const std::uint64_t peak = highest_of_host(analysis);
  const bool seen_there = clamp_to_zero(header.highest) >= peak;
  return {seen_there ? saturating_sub(peak, clamp_to_zero(header.highest_at_least)) : 0,
          saturating_sub(clamp_to_zero(header.highest_at_most), peak)};
}

// Returns the error of a process that ended while its recording began. The recorder's own counters are the
// truth.
Uncertainty beginning_error(const ProcessAnalysis& analysis) {
  const auto& beginning = analysis.facts().beginning;
  if (!beginning) return {};
  const std::uint64_t left = clamp_to_zero(analysis.account.left);
  const std::uint64_t highest = highest_of_host(analysis);
  // The recorder updates its level per record, not per block: peaks were up to 30 KB higher.
  constexpr std::uint64_t kRough = 64 * 1024, kRoughPart = 32;
  const std::uint64_t rough = beginning->small + kRough + beginning->highest / kRoughPart;
  return {std::max(saturating_sub(left, beginning->live), saturating_sub(highest, beginning->highest)) + rough,
          std::max(saturating_sub(beginning->live, left), saturating_sub(beginning->highest, highest)) + rough};
}

Uncertainty sum(const Uncertainty& a, const Uncertainty& b) {
  return {a.below + b.below, a.above + b.above};
}

// Returns the error of each level of the host.
Uncertainty host_error(const ProcessAnalysis& analysis) {
  const trace::Facts& facts = analysis.facts();
  const format::LostBlocks& lost = facts.lost_blocks;
  return sum(beginning_error(analysis), {lost.uncounted_death_bytes + facts.uncounted_bound,
                                         lost.uncounted_birth_bytes + facts.uncounted_bound});
}

} // namespace

Uncertainty live_error(const ProcessAnalysis& analysis) {
  const trace::OrderCounts& counts = analysis.account.counts;
  // Without a ring file, the last calls of a killed process's threads are not known.
  const bool known = counts.end_known && (analysis.facts().end || analysis.trace->rings() != nullptr);
  if (known) return host_error(analysis);
  return sum(host_error(analysis), {counts.too_high, counts.too_low});
}

Uncertainty peak_error(const ProcessAnalysis& analysis) {
  const trace::OrderCounts& counts = analysis.account.counts;
  const Uncertainty dropped = dropped_error(analysis);
  const std::uint64_t before = saturating_sub(analysis.facts().highest_before, highest_of_host(analysis));
  return sum(host_error(analysis),
             {std::max(counts.too_high, dropped.below), std::max({counts.too_low, dropped.above, before})});
}

Uncertainty tensor_error(const ProcessAnalysis& analysis) {
  const format::LostBlocks& lost = analysis.facts().lost_blocks;
  return {lost.tensor_death_bytes, lost.tensor_birth_bytes};
}

namespace {
std::string bounds(const ProcessAnalysis& analysis) {
  return fmt::format("{}; {}", range("Held at the end", live_error(analysis)),
                     range("peak", peak_error(analysis)));
}

// What a quick reading does not know. Empty if all events were read.
std::string left_out_text(const ProcessAnalysis& analysis) {
  const std::uint64_t left_out = analysis.losses.left_out;
  if (left_out == 0) return "";
  return fmt::format(
      "--quick left out {} of {} events. Rows of the recorder stand for their steps. Samples there were "
      "not read, so figures of resident memory and of the machine may be too low. ",
      count(left_out), count(left_out + analysis.account.counts.records));
}

std::string missing_text(const ProcessAnalysis& analysis) {
  const trace::Losses& losses = analysis.losses;
  if (losses.damaged_bytes != 0)
    return fmt::format("{} bytes of this trace are damaged, so any figure may be wrong.",
                       count(losses.damaged_bytes));
  if (const auto gap = losses.events.find("gap"); gap != losses.events.end())
    return fmt::format("{} records are missing from this trace, so any figure may be wrong.",
                       count(gap->second));
  std::string text;
  if (analysis.facts().beginning) {
    text = fmt::format("The trace ends while recording began, so it lacks some earlier events. {}.",
                       bounds(analysis));
  } else if (analysis.facts().uncounted_bound != 0) {
    text = fmt::format("The trace lacks the last small blocks of threads that had not recorded yet. {}.",
                       bounds(analysis));
  }
  if (losses.total() == 0) return text;
  const format::LostBlocks& lost = analysis.facts().lost_blocks;
  if (!text.empty()) text += " ";
  text += fmt::format("Lost events: {} ({}). {}; {}.", count(losses.total()), reasons(losses), bounds(analysis),
                      range("tensors", tensor_error(analysis)));
  if (lost.births != 0)
    text += fmt::format(" The report names no site for {} in {} lost births.", bytes(lost.birth_bytes),
                        count(lost.births));
  if (lost.deaths != 0)
    text += fmt::format(" It may still list {} that {} lost deaths freed.", bytes(lost.death_bytes),
                        count(lost.deaths));
  return text;
}

} // namespace

std::string uncertainty_text(const ProcessAnalysis& analysis) {
  std::string text = left_out_text(analysis) + missing_text(analysis);
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

} // namespace memtrace::report
