// Purpose: finds free memory that the allocator keeps, and that grows because later blocks do not reuse it.
#include "analyzer/findings/process/retention_growth.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "analyzer/passes/freed_ranges.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using trace::LedgerPoint;

constexpr const char* kNoReason = "The trace does not show why later blocks did not reuse it.";
constexpr std::size_t kLeastLedgers = 4;
constexpr std::uint64_t kLeastRise = 128 << 20;        // bytes
constexpr std::uint64_t kLeastUnexplained = 256 << 20; // the rise, if the trace does not show a reason
constexpr std::uint64_t kPercentMost = 80;             // of the free bytes: a reason must explain as many

struct RetentionRise {
  LedgerPoint first, last;
  format::Stamp half = 0;
  std::size_t ledgers = 0;
  std::uint64_t bytes() const { return last.kept - first.kept; }
};

// True if the kept bytes rise at many ledgers and do not fall again.
bool rises_steadily(const std::vector<LedgerPoint>& all, std::uint64_t rise) {
  std::uint64_t highest = all.front().kept, before = highest;
  for (const LedgerPoint& one : all) {
    if (one.kept + rise / 8 < highest || one.kept > before + rise / 2) return false;
    highest = std::max(highest, one.kept);
    before = one.kept;
  }
  return true;
}

std::optional<RetentionRise> rise_of(std::vector<LedgerPoint> all) {
  std::erase_if(all, [](const LedgerPoint& one) { return !one.asked || one.at_end; });
  if (all.size() < kLeastLedgers) return std::nullopt;
  RetentionRise out{all.front(), all.back(), 0, all.size()};
  if (out.last.kept < out.first.kept + kLeastRise || out.bytes() < out.last.total / 4) return std::nullopt;
  out.half = out.first.stamp + (out.last.stamp - out.first.stamp) / 2;
  const auto later =
      std::find_if(all.begin(), all.end(), [&](const LedgerPoint& one) { return one.stamp > out.half; });
  if (later == all.begin() || later == all.end()) return std::nullopt;
  const std::uint64_t middle = std::prev(later)->kept, quarter = out.bytes() / 4;
  if (middle < out.first.kept + quarter || out.last.kept < middle + quarter) return std::nullopt;
  return rises_steadily(all, out.bytes()) ? std::optional(out) : std::nullopt;
}

bool is_most(std::uint64_t part, std::uint64_t all) {
  return part != 0 && part >= all / 100 * kPercentMost;
}

struct RetentionReason {
  std::string sentence, remedy;
};

RetentionReason reason_of(const replay::FreedRanges& freed, const std::string& line) {
  if (is_most(freed.later_mapped, freed.later_bytes))
    return {
        "Later blocks did not reuse it: they are above malloc's mmap threshold, so each was mapped by itself.",
        "MALLOC_MMAP_THRESHOLD_=65536 maps large blocks one by one, and gives them back when they are freed"};
  if (is_most(freed.of_idle_threads, freed.bytes))
    return {
        "Later blocks did not reuse it: other threads allocated them, and each thread has an arena of its own.",
        "MALLOC_ARENA_MAX=1 or 2 lets threads share an arena"};
  if (is_most(freed.later_unfitted, freed.later_bytes))
    return {
        "Later blocks did not reuse it: they are larger than the gaps that freed blocks left between live "
        "blocks. The heap is fragmented.",
        fmt::format("allocate one buffer of the largest size before the loop, and use it again{}{}",
                    line.empty() ? "" : " at ", line)};
  return {kNoReason, ""};
}

// Returns the stack of most of the blocks that were freed there.
format::StackId main_stack(const replay::FreedRanges& freed) {
  const auto most = std::max_element(freed.stacks.begin(), freed.stacks.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == freed.stacks.end() ? format::StackId{} : most->first;
}

std::string trim_remedy(const replay::FreedRanges& freed, std::uint64_t kept) {
  // The ranges are a second measure of the kept bytes. If the two disagree, the whole pages are not known.
  const std::uint64_t apart = freed.bytes > kept ? freed.bytes - kept : kept - freed.bytes;
  const std::uint64_t most = apart <= kept / 10 ? std::min(freed.whole_pages, kept) : kept;
  return fmt::format("malloc_trim(0) now and then gives back whole free pages: up to -{} at the last ledger",
                     sized(most));
}

Finding finding_of(const ProcessAnalysis& analysis, const RetentionRise& rise) {
  const replay::FreedRanges freed = replay::freed_ranges(*analysis.trace, rise.half, rise.last.stamp);
  Finding finding;
  finding.id = "retention-growth";
  finding.site = main_stack(freed);
  const std::string line =
      finding.site == format::StackId{} ? "" : analysis.symbolizer->site(finding.site).line();
  const RetentionReason reason = reason_of(freed, line);
  finding.bytes = static_cast<std::int64_t>(rise.last.kept);
  finding.certain = true;
  finding.title = fmt::format("Freed memory that the allocator keeps grew by {}, to {} of {} resident{}{}",
                              sized(rise.bytes()), sized(rise.last.kept), sized(rise.last.total),
                              line.empty() ? "" : ": mostly blocks of ", line);
  finding.evidence = {
      fmt::format("{} bytes at {:.1f} s, {} bytes at {:.1f} s, asked of the allocator at {} ledgers",
                  rise.first.kept, analysis.seconds(rise.first.stamp), rise.last.kept,
                  analysis.seconds(rise.last.stamp), rise.ledgers),
      fmt::format(
          "{} bytes of freed blocks were not used again. In the second half of that time, blocks of {} "
          "bytes took new memory: {} of them were too large for four fifths of the free bytes, and {} were "
          "mapped one by one",
          freed.bytes, freed.later_bytes, freed.later_unfitted, freed.later_mapped)};
  finding.sentences = {reason.sentence};
  const std::string trim = trim_remedy(freed, rise.last.kept);
  finding.remedy = reason.remedy.empty() ? trim : reason.remedy + "; " + trim;
  finding.no_remedy = "del and gc.collect(): these bytes are free already";
  return finding;
}

} // namespace

Findings find_retention_growth(const ProcessAnalysis& analysis) {
  const std::optional<RetentionRise> rise = rise_of(analysis.account.ledgers.all());
  if (!rise) return {};
  Finding finding = finding_of(analysis, *rise);
  // Beside busy programs, a worker of a loader kept 144 MiB for a while: its parent took the batches late.
  if (finding.sentences.front() == kNoReason && rise->bytes() < kLeastUnexplained) return {};
  return {std::move(finding)};
}

} // namespace memtrace::report
