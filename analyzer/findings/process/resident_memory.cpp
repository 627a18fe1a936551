// Purpose: finds resident memory that is not used, and allocated memory that is not resident.
#include "analyzer/findings/process/resident_memory.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/job/trace_name.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using format::LedgerRow;
using trace::LedgerPoint;
using trace::ProcessLedger;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::size_t kFewest = 3; // ledgers

std::uint64_t resident(const ProcessLedger& ledger, LedgerRow which) {
  const auto& row = ledger.rows[static_cast<std::size_t>(which)];
  return row ? row->resident : 0;
}

std::string at_its_highest(const ProcessAnalysis& analysis, const ProcessLedger& ledger) {
  return fmt::format("VmRSS at its highest, {:.1f} s: {} bytes", analysis.seconds(ledger.stamp), ledger.total);
}

void files(const ProcessAnalysis& analysis, const ProcessLedger& highest, Findings& out) {
  const std::uint64_t bytes = resident(highest, LedgerRow::files);
  if (bytes < 256 * kMiB || bytes < highest.total / 2) return;
  Finding finding;
  finding.id = "page-cache-not-memory";
  finding.bytes = static_cast<std::int64_t>(bytes);
  finding.certain = true;
  finding.title = fmt::format("{} of {} resident are pages of mapped files: cache, not use", sized(bytes),
                              sized(highest.total));
  finding.evidence = {at_its_highest(analysis, highest), fmt::format("of it mapped files: {} bytes", bytes)};
  finding.sentences = {
      "The kernel takes them back when memory is wanted, and each process that maps the file shows "
      "them as its own."};
  finding.remedy = fmt::format("nothing has to be freed; count RssAnon or PSS: {} here without them",
                               sized(highest.total - std::min(bytes, highest.total)));
  finding.no_remedy = "fewer workers or smaller batches: these pages stay";
  out.push_back(std::move(finding));
}

// Returns the ledgers of the second half of the process's life, without its end, when a program frees
// everything.
std::vector<LedgerPoint> of_second_half(const ProcessAnalysis& analysis) {
  const format::Stamp start = analysis.facts().start_stamp, last = analysis.facts().last_stamp;
  const format::Stamp half = start + (last > start ? last - start : 0) / 2;
  std::vector<LedgerPoint> out;
  for (const LedgerPoint& one : analysis.account.ledgers.all())
    if (one.stamp >= half && !one.at_end) out.push_back(one);
  return out;
}

// Returns the ledger with the lowest figure, or nullptr if there are too few. That many bytes are not used
// again.
const LedgerPoint* least(const std::vector<LedgerPoint>& all, std::uint64_t LedgerPoint::*what) {
  if (all.size() < kFewest) return nullptr;
  return &*std::min_element(all.begin(), all.end(),
                            [&](const LedgerPoint& a, const LedgerPoint& b) { return a.*what < b.*what; });
}

std::string in_each(const ProcessAnalysis& analysis, const std::vector<LedgerPoint>& all) {
  return fmt::format("as much or more at each of {} ledgers from {:.1f} to {:.1f} s", all.size(),
                     analysis.seconds(all.front().stamp), analysis.seconds(all.back().stamp));
}

void kept(const ProcessAnalysis& analysis, std::vector<LedgerPoint> all, Findings& out) {
  std::erase_if(all, [](const LedgerPoint& one) { return !one.asked; });
  const LedgerPoint* const one = least(all, &LedgerPoint::kept);
  if (one == nullptr || one->kept < 128 * kMiB || one->kept < one->total / 10 * 4) return;
  Finding finding;
  finding.id = "allocator-retention";
  finding.bytes = static_cast<std::int64_t>(one->kept);
  finding.certain = true;
  finding.title =
      fmt::format("{} of {} resident are free, and kept by the allocator", sized(one->kept), sized(one->total));
  finding.evidence = {fmt::format("{} of {} bytes at {:.1f} s, asked of the allocator", one->kept, one->total,
                                  analysis.seconds(one->stamp)),
                      in_each(analysis, all)};
  finding.sentences = {"They were freed and lie between blocks that live, or below one: RSS does not fall."};
  finding.remedy = fmt::format(
      "malloc_trim(0) after the large free gives back whole free pages: up to -{}; "
      "MALLOC_ARENA_MAX=2 where many threads allocate",
      sized(one->kept));
  finding.no_remedy = "del and gc.collect(): these bytes are free already";
  out.push_back(std::move(finding));
}

// Returns the stack of the largest holding at the peak if it is at least as large, else no stack.
format::StackId site_of(const ProcessAnalysis& analysis, std::uint64_t bytes) {
  const auto peak = analysis.account.peaks.find(0);
  if (peak == analysis.account.peaks.end()) return {};
  const auto set = analysis.sets.find({0, replay::Measure::live, peak->second.live.at});
  if (set == analysis.sets.end() || set->second.empty()) return {};
  const replay::Holding& largest = set->second.front();
  return largest.bytes >= bytes && !largest.sampled ? largest.stack : format::StackId{};
}

// True if the dynamic loader ran the code that made the block: a library's constructor.
bool is_made_by_loader(const symbols::Site& site) {
  return std::any_of(site.frames.begin(), site.frames.end(), [](const symbols::SiteFrame& frame) {
    return frame.module.substr(frame.module.rfind('/') + 1).starts_with("ld-linux");
  });
}

// Returns the bytes that libraries reserved when they were loaded and never touched. A user can do nothing
// about them. OpenBLAS takes 32 MiB for each core: on 16 cores, every program with numpy had a finding of 512
// MiB.
std::uint64_t reserved_by_libraries(const ProcessAnalysis& analysis, const replay::Peak& live) {
  std::uint64_t out = 0;
  for (const replay::Holding& holding : analysis.set({0, replay::Measure::live, live.at}))
    if (holding.untouched != 0 && is_made_by_loader(analysis.symbolizer->site(holding.stack)))
      out += holding.untouched;
  return out;
}

// Returns the bytes that a phase of a typical step makes and frees. Beside busy programs, each of three ledgers
// was taken before such a block was written to.
std::uint64_t passing(const ProcessAnalysis& analysis) {
  std::int64_t out = 0;
  for (const replay::Row& row : analysis.steady.rows) out = std::max(out, row.of(0).live.transient);
  return static_cast<std::uint64_t>(out);
}

void reserved(const ProcessAnalysis& analysis, const std::vector<LedgerPoint>& all, Findings& out) {
  const LedgerPoint* const one = least(all, &LedgerPoint::untouched);
  const auto peak = analysis.account.peaks.find(0);
  if (one == nullptr || peak == analysis.account.peaks.end()) return;
  const replay::Peak& live = peak->second.live;
  const std::uint64_t libraries = reserved_by_libraries(analysis, live);
  const std::uint64_t bytes = one->untouched - std::min(one->untouched, libraries);
  if (bytes < 256 * kMiB + passing(analysis) || static_cast<std::int64_t>(bytes) < live.bytes / 4) return;
  Finding finding;
  finding.id = "reserved-not-resident";
  finding.bytes = static_cast<std::int64_t>(bytes);
  finding.title = fmt::format("{} were allocated and never touched", sized(bytes));
  finding.evidence = {
      fmt::format("{} bytes of blocks and mappings alive at {:.1f} s are not in memory, besides {} that "
                  "libraries reserved when they were loaded",
                  bytes, analysis.seconds(one->stamp), one->untouched - bytes),
      in_each(analysis, all), fmt::format("the most that was alive: {} bytes", live.bytes)};
  finding.sentences = {
      "Memory that was asked for counts for no limit until it is written to; once it is, it will."};
  finding.remedy = "allocate what is used, or leave it: it costs addresses, not memory";
  finding.no_remedy = "freeing caches: these pages are in nobody's RSS";
  finding.site = site_of(analysis, bytes);
  out.push_back(std::move(finding));
}

} // namespace

Findings find_in_resident(ProcessAnalysis& analysis) {
  Findings out;
  const std::vector<LedgerPoint> later = of_second_half(analysis);
  kept(analysis, later, out);
  reserved(analysis, later, out);
  if (const auto& highest = analysis.account.ledgers.highest()) files(analysis, *highest, out);
  return out;
}

std::optional<OfParent> of_parent(const ProcessAnalysis& analysis) {
  const auto& most = analysis.account.ledgers.most_copied();
  if (!most || most->copied + most->shared == 0) return std::nullopt;
  OfParent out{most->copied, most->shared, 0};
  std::uint64_t early = 0;
  if (const auto noted = analysis.facts().note("copied-at-first-item"); noted && number(*noted, early, 10)) {
    out.early = std::min(early, out.copied);
  } else if (const auto& first = analysis.account.ledgers.first()) {
    early = resident(*first, LedgerRow::copied);
    if (early < out.copied / 2) out.early = early;
  }
  return out;
}

std::optional<Finding> find_copied(const std::vector<OfParent>& workers) {
  std::uint64_t copied = 0, early = 0, given = 0, most = 0;
  for (const OfParent& one : workers) {
    copied += one.copied;
    early += one.early;
    given += one.copied + one.shared;
    most = std::max(most, one.copied);
  }
  if (copied < 128 * kMiB || copied < given / 7) return std::nullopt;
  Finding finding;
  finding.id = "copy-on-write-growth";
  finding.phase = "data";
  finding.bytes = static_cast<std::int64_t>(copied - early);
  finding.certain = true;
  finding.title = fmt::format("{} workers copied {} of their parent's memory by writing to it", workers.size(),
                              sized(copied - early));
  finding.evidence = {
      fmt::format("{} bytes of {} that they were given by fork are pages of their own now", copied, given),
      fmt::format("{} bytes in one of them", most)};
  finding.sentences = {
      "No allocation makes this memory: reading an object of Python's writes its count of references, "
      "and the kernel copies the page."};
  if (early != 0) {
    finding.evidence.push_back(
        fmt::format("{} bytes of them were copied before each began to read its data", early));
    finding.sentences.push_back(fmt::format("They had copied {} before that, when they started: {} in all.",
                                            sized(early), sized(copied)));
  }
  finding.remedy =
      "hold the data as one array or tensor instead of many Python objects (lists, dicts, strings), or "
      "gc.freeze() before the workers start";
  finding.no_remedy = "a smaller prefetch_factor, or del in the worker: writing is what copies";
  return finding;
}

} // namespace memtrace::report
