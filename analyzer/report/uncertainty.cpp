// Room: report.
// Job: by how much the figures of a process may be off, because its recorder dropped records.
#include "report/uncertainty.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/units.h"
#include "report/utf8.h"

namespace memtrace::report {
namespace {

std::uint64_t positive(std::int64_t value) {
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}
std::uint64_t above(std::uint64_t a, std::uint64_t b) {
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

// Of a process that ended while its recording began. What the recorder had counted is the truth.
Uncertainty beginning_error(const View& view) {
  const auto& beginning = view.facts().beginning;
  if (!beginning) return {};
  const auto peak = view.account.peaks.find(fold::MemoryId{0});
  const std::uint64_t left = positive(view.account.left);
  const std::uint64_t highest = peak == view.account.peaks.end() ? 0 : positive(peak->second.live.bytes);
  // The recorder noted its level now and then, not with each block: peaks were up to 30 KB above it.
  constexpr std::uint64_t kRough = 64 * 1024, kRoughPart = 32;
  const std::uint64_t rough = beginning->small + kRough + beginning->highest / kRoughPart;
  return {std::max(above(left, beginning->live), above(highest, beginning->highest)) + rough,
          std::max(above(beginning->live, left), above(beginning->highest, highest)) + rough};
}

} // namespace

Uncertainty live_error(const View& view) {
  const format::LostBlocks& lost = view.facts().lost_blocks;
  const trace::OrderCounts& counts = view.account.counts;
  const Uncertainty before = beginning_error(view);
  return {counts.too_high + lost.uncounted_death_bytes + before.below,
          counts.too_low + lost.uncounted_birth_bytes + before.above};
}

Uncertainty tensor_error(const View& view) {
  const format::LostBlocks& lost = view.facts().lost_blocks;
  return {lost.tensor_death_bytes, lost.tensor_birth_bytes};
}

std::string uncertainty_text(const View& view) {
  const trace::Losses& losses = view.losses;
  if (losses.damaged_bytes != 0)
    return fmt::format("{} bytes of this trace are damaged, so any figure may be wrong.",
                       count(losses.damaged_bytes));
  std::string text;
  if (view.facts().beginning)
    text = fmt::format("It ended while its recording began, so not all that came before is in the trace. {}.",
                       range("Live bytes", live_error(view)));
  if (losses.total() == 0) return text;
  const format::LostBlocks& lost = view.facts().lost_blocks;
  if (!text.empty()) text += " ";
  text += fmt::format("{} events were lost ({}). {}; {}.", count(losses.total()), reasons(losses),
                      range("Live bytes", live_error(view)), range("tensors", tensor_error(view)));
  if (lost.births + lost.deaths != 0)
    text +=
        fmt::format(" No owner is known of {} in {} lost births. {} in {} lost deaths may still be listed.",
                    bytes(lost.birth_bytes), count(lost.births), bytes(lost.death_bytes), count(lost.deaths));
  return text;
}

} // namespace memtrace::report
