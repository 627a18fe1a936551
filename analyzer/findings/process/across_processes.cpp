// Purpose: finds memory that several processes of a job hold together: batches made ahead, the same data in
// each worker or rank.
#include "analyzer/findings/process/across_processes.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "analyzer/job/worker_parent.h"
#include "analyzer/passes/shm_flows.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::Holding;
using replay::Instant;
using replay::Measure;

constexpr std::int64_t kLeastAhead = 64 << 20;
constexpr std::int64_t kShareOfPeak = 5; // the peak divided by this
constexpr std::uint64_t kLeastCopy = 32 << 20;
// How workers can share what each of them holds. A worker that is not a fork of its parent gets the data set by
// pickle. PyTorch puts the tensors of a pickle into shared memory.
constexpr char kBeforeFork[] =
    "make it before the workers are started by fork (in the dataset's __init__), as one tensor or array";
constexpr char kSharedTensor[] =
    "hold it as one tensor in the dataset, made in its __init__ (spawn and forkserver pickle arrays and "
    "objects "
    "for each worker, and share tensors), or start the workers by fork";
constexpr std::uint64_t kFewestBatches = 4; // shared blocks that show where a worker's batches are

// True if an import made the blocks: each process imports for itself.
bool of_import(const symbols::Site& site) {
  return std::any_of(site.frames.begin(), site.frames.end(), [](const symbols::SiteFrame& frame) {
    return frame.file.starts_with("<frozen importlib");
  });
}

void note_shm_size(const ProcessAnalysis& analysis, std::uint64_t& bytes) {
  const auto& machine = analysis.trace->samples().machine();
  if (machine && machine->shm_size != trace::kNotSaid) bytes = machine->shm_size;
}

// True if a worker's loop made a shared block that was born in this phase. A worker that is not a fork gets the
// shared tensors of its data set before its loop begins: these are its parent's.
bool is_made_in_loop(replay::KnownPhase born) {
  return born != replay::KnownPhase::none && born != replay::KnownPhase::load;
}

std::vector<replay::SharedFlow> made_in_loop(const trace::Trace& trace) {
  std::vector<replay::SharedFlow> births = replay::shared_flows(trace).births;
  std::erase_if(births, [](const replay::SharedFlow& birth) { return !is_made_in_loop(birth.born.known); });
  return births;
}

std::string place_key(const symbols::Site& site) {
  return site.where + "\n" + site.caller;
}

// Returns the middle and the last of a worker's batches. Small batches are not in `births`, nor are those that
// a worker sends through a pipe.
std::optional<replay::BatchSpan> batches_of(const trace::Trace& trace,
                                            const std::vector<replay::SharedFlow>& births) {
  if (births.size() < kFewestBatches) return replay::batch_span(trace);
  const replay::SharedFlow &middle = births[births.size() / 2], &last = births.back();
  return replay::BatchSpan{{middle.stamp, middle.at}, {last.stamp, last.at}};
}

} // namespace

void JobFindings::add(ProcessAnalysis& analysis, const Findings& own, bool workers) {
  rank_copies_.add(analysis, own);
  wrong_device_.add(analysis, own);
  if (!workers) return;
  if (analysis.kind == "worker") {
    add_worker(analysis);
  } else {
    add_parent(analysis);
  }
}

void JobFindings::SiblingFlows::add(SiblingFlows&& others) {
  std::move(others.flows.begin(), others.flows.end(), std::back_inserter(flows));
  for (auto& [place, workers_of_place] : others.kept)
    std::move(workers_of_place.begin(), workers_of_place.end(), std::back_inserter(kept[place]));
  std::move(others.inherited.begin(), others.inherited.end(), std::back_inserter(inherited));
  if (others.refused.bytes > refused.bytes) refused = std::move(others.refused);
  refusals += others.refusals;
  workers += others.workers;
  if (others.has_parent) parents_peak = others.parents_peak;
  if (others.shm_size != 0) shm_size = others.shm_size;
  if (site == nullptr) site = std::move(others.site);
  has_parent = has_parent || others.has_parent;
  forked = forked && others.forked;
  whole = whole && others.whole;
}

void JobFindings::add(JobFindings&& others) {
  rank_copies_.add(std::move(others.rank_copies_));
  wrong_device_.add(std::move(others.wrong_device_));
  for (auto& [of, family] : others.families_) families_[of].add(std::move(family));
}

void JobFindings::add_parent(ProcessAnalysis& analysis) {
  SiblingFlows& family = families_[{analysis.facts().host, analysis.facts().pid}];
  family.has_parent = true;
  family.whole = family.whole && analysis.losses.coarsened == 0 && analysis.losses.left_out == 0;
  family.parents_peak = analysis.account.peaks.at(0).live.bytes;
  note_shm_size(analysis, family.shm_size);
  for (const replay::SharedFlow& flow : replay::shared_flows(*analysis.trace).deaths)
    family.flows.push_back({flow.stamp, -static_cast<std::int64_t>(flow.bytes)});
}

void JobFindings::add_worker(ProcessAnalysis& analysis) {
  SiblingFlows& family = families_[{analysis.facts().host, worker_parent(analysis.facts())}];
  ++family.workers;
  family.forked = family.forked && is_fork_of_parent(analysis.facts());
  if (const auto pages = of_parent(analysis)) family.inherited.push_back(*pages);
  family.whole = family.whole && analysis.losses.coarsened == 0 && analysis.losses.left_out == 0;
  const std::vector<replay::SharedFlow> made = made_in_loop(*analysis.trace);
  for (const replay::SharedFlow& flow : made)
    family.flows.push_back({flow.stamp, static_cast<std::int64_t>(flow.bytes)});
  add_refused(analysis, family);
  if (const auto batches = batches_of(*analysis.trace, made)) add_kept(analysis, family, *batches);
}

void JobFindings::add_refused(ProcessAnalysis& analysis, SiblingFlows& family) {
  for (const trace::Failure& failure : analysis.trace->samples().failures()) {
    if (!failure.is_shm_full()) continue;
    family.refusals += failure.times;
    note_shm_size(analysis, family.shm_size);
    if (failure.asked <= family.refused.bytes) continue;
    family.refused = {failure.asked, "", nullptr};
    if (failure.stack == format::StackId{}) continue;
    const symbols::Site& site = analysis.symbolizer->site(failure.stack);
    family.refused.line = site.own_line;
    family.refused.site = symbols::keep(site);
  }
}

JobFinding JobFindings::shm_full_finding(const SiblingFlows& family) {
  const RefusedFile& largest = family.refused;
  JobFinding found;
  found.site = largest.site;
  Finding& finding = found.finding;
  finding.id = "shm-full";
  finding.phase = "data";
  finding.bytes = static_cast<std::int64_t>(largest.bytes);
  finding.certain = true;
  const std::string has = family.shm_size == 0 ? "" : fmt::format(", which has {}", sized(family.shm_size));
  finding.title = fmt::format("{} of shared memory{} did not fit into /dev/shm{}", sized(largest.bytes),
                              largest.line.empty() ? "" : " at " + largest.line, has);
  finding.evidence = {
      fmt::format("{} files of shared memory of {} workers found no room (ENOSPC), the largest of "
                  "{} bytes",
                  family.refusals, family.workers, largest.bytes)};
  if (family.shm_size != 0) finding.evidence.push_back(fmt::format("/dev/shm has {} bytes", family.shm_size));
  finding.sentences = {
      "The batches of workers go to their parent through /dev/shm, and all that wait there count.",
      "Without workers, nothing goes through it."};
  finding.remedy =
      "a larger /dev/shm (docker run --shm-size, a memory-backed emptyDir), fewer workers or a smaller "
      "prefetch_factor";
  finding.no_remedy = "a higher memory limit: the size of /dev/shm is a limit of its own";
  return found;
}

void JobFindings::add_kept(ProcessAnalysis& analysis, SiblingFlows& family, const replay::BatchSpan& batches) {
  const Instant middle{0, Measure::live, batches.middle.at}, end{0, Measure::live, batches.end.at};
  const auto sets = alive_at(analysis, {middle, end});
  std::map<std::string, SitePlace> kept;
  std::map<std::string, std::uint64_t> from_middle; // bytes that were alive in the middle and still at the end
  for (const Holding& holding : sets.at(end)) {
    if (holding.stack == format::StackId{}) continue;
    const symbols::Site& site = analysis.symbolizer->site(holding.stack);
    if (holding.kind == format::Kind::shm && is_made_in_loop(holding.born_known) && family.site == nullptr)
      family.site = symbols::keep(site);
    if (holding.kind == format::Kind::shm || of_import(site)) continue;
    SitePlace& place = kept[place_key(site)];
    if (place.site == nullptr) {
      place.site = symbols::keep(site);
      place.title = site.title();
      place.caller = site.caller;
    }
    place.bytes += holding.bytes;
    place.blocks += holding.blocks;
  }
  const std::uint64_t rest = batches.end.stamp - batches.middle.stamp;
  for (const Holding& holding : sets.at(middle))
    if (holding.kind != format::Kind::shm && holding.stack != format::StackId{} && holding.lifetime >= rest)
      from_middle[place_key(analysis.symbolizer->site(holding.stack))] += holding.bytes;
  for (auto& [where, place] : kept)
    if (place.bytes >= kLeastCopy && 5 * from_middle[where] >= 3 * place.bytes)
      family.kept[where].push_back(std::move(place));
}

JobFindings::Ahead JobFindings::measure_ahead(const SiblingFlows& family) {
  // The parent's own blocks do not count: only sizes that a worker made do.
  std::unordered_map<std::int64_t, std::int64_t> blocks; // the key is a size in bytes
  for (const SiteFlow& flow : family.flows)
    if (flow.bytes > 0) blocks[flow.bytes] = 0;
  std::vector<SiteFlow> flows = family.flows;
  std::stable_sort(flows.begin(), flows.end(),
                   [](const SiteFlow& a, const SiteFlow& b) { return a.stamp < b.stamp; });
  // Counts the blocks of each size after a flow. False if no worker made that size.
  const auto follow = [&blocks](const SiteFlow& flow) {
    const auto at = blocks.find(std::abs(flow.bytes));
    if (at == blocks.end() || (flow.bytes < 0 && at->second == 0)) return false;
    at->second += flow.bytes > 0 ? 1 : -1;
    return true;
  };
  Ahead out;
  std::int64_t level = 0;
  std::size_t highest = 0; // flows up to the highest level
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (!follow(flows[i])) continue;
    level = replay::wrapping_add(level, flows[i].bytes);
    if (level <= out.bytes) continue;
    out.bytes = level;
    highest = i + 1;
  }
  if (highest == 0) return out;
  // Finds the size with most bytes only once, at the highest level. At each new level, the cost would be sizes
  // times flows.
  for (auto& [bytes, number] : blocks) number = 0;
  for (std::size_t i = 0; i < highest; ++i) follow(flows[i]);
  const auto most = std::max_element(blocks.begin(), blocks.end(), [](const auto& a, const auto& b) {
    return a.first * a.second < b.first * b.second;
  });
  out.largest = most->first;
  out.blocks = most->second;
  return out;
}

void JobFindings::prefetch(const SiblingFlows& family, std::vector<JobFinding>& out) {
  // The parent takes the batches. Without its trace, each batch would seem to wait for ever.
  if (family.workers == 0 || !family.has_parent || !family.whole) return;
  const Ahead ahead = measure_ahead(family);
  const bool large = ahead.bytes >= kLeastAhead && ahead.bytes >= family.parents_peak / kShareOfPeak;
  const bool full = family.shm_size != 0 && 2 * ahead.bytes >= static_cast<std::int64_t>(family.shm_size);
  if (large || full) out.push_back(prefetch_finding(family, ahead));
}

JobFinding JobFindings::prefetch_finding(const SiblingFlows& family, const Ahead& ahead) {
  const auto workers = static_cast<std::int64_t>(family.workers);
  const std::int64_t each = (ahead.blocks + workers - 1) / workers;
  JobFinding found;
  found.site = family.site;
  Finding& finding = found.finding;
  finding.id = "loader-prefetch";
  finding.phase = "data";
  finding.bytes = ahead.bytes;
  finding.certain = true;
  finding.title =
      fmt::format("{} of batches in /dev/shm, made ahead by {} workers", size(ahead.bytes), workers);
  finding.evidence = {
      fmt::format("{} bytes that {} workers had put into shared memory and their parent had not given back",
                  ahead.bytes, workers),
      fmt::format("{} blocks of {} bytes of them, {} for each worker", ahead.blocks, ahead.largest, each),
      fmt::format("the parent itself holds {} bytes at most", family.parents_peak)};
  if (family.shm_size != 0) finding.evidence.push_back(fmt::format("/dev/shm has {} bytes", family.shm_size));
  finding.sentences = {fmt::format("{} x {} were there at once: {} workers, each {} ahead.", ahead.blocks,
                                   size(ahead.largest), workers, each),
                       "They are no process's resident memory for as long as they wait: they count for the "
                       "cgroup and /dev/shm."};
  finding.remedy = each > 1
                       ? fmt::format(
                             "prefetch_factor=1: -{}; fewer workers; or smaller items (uint8 instead of "
                             "float32 is a quarter), converted after the loader",
                             size(ahead.bytes - ahead.bytes / each))
                       : fmt::format(
                             "fewer workers: -{} for each; or smaller items (uint8 instead of float32 is a "
                             "quarter), converted after the loader",
                             size(ahead.bytes / workers));
  finding.no_remedy = "pin_memory, or anything in the model: these bytes lie before it";
  return found;
}

void JobFindings::copies(const SiblingFlows& family, std::vector<JobFinding>& out) {
  for (const auto& [where, places] : family.kept) {
    const auto [least, most] = std::minmax_element(
        places.begin(), places.end(), [](const SitePlace& a, const SitePlace& b) { return a.bytes < b.bytes; });
    if (places.size() < 2 || 5 * (most->bytes - least->bytes) > most->bytes) continue;
    std::uint64_t bytes = 0;
    for (const SitePlace& place : places) bytes += place.bytes;
    JobFinding found;
    found.site = places.front().site;
    Finding& finding = found.finding;
    finding.id = "worker-copies";
    finding.phase = "data";
    finding.bytes = static_cast<std::int64_t>(bytes);
    finding.certain = false; // the trace does not show that the content is the same in each
    finding.title = fmt::format("{}: {} in each of {} workers, {} together", places.front().title,
                                sized(most->bytes), places.size(), sized(bytes));
    finding.evidence = {
        fmt::format("{} to {} bytes in {} to {} blocks, made in the worker and held at the end of its "
                    "batches, three fifths of them since the middle",
                    least->bytes, most->bytes, least->blocks, most->blocks),
        fmt::format("in {} of {} workers", places.size(), family.workers)};
    finding.sentences = {"Each made its own after it was started, so no page is shared."};
    if (!places.front().caller.empty())
      finding.sentences.push_back(fmt::format("Called from {}.", places.front().caller));
    finding.remedy =
        fmt::format("{}, or read it by memory map: -{}", family.forked ? kBeforeFork : kSharedTensor,
                    sized(bytes - bytes / places.size()));
    finding.no_remedy = "a smaller prefetch_factor: it holds batches, not this";
    out.push_back(std::move(found));
  }
}

std::vector<JobFinding> JobFindings::find() const {
  std::vector<JobFinding> out;
  rank_copies_.find(out);
  wrong_device_.find(out);
  for (const auto& [of, family] : families_) {
    if (family.refusals != 0)
      out.push_back(shm_full_finding(family));
    else
      prefetch(family, out);
    copies(family, out);
    if (auto copied = find_copied(family.inherited)) out.push_back({std::move(*copied), nullptr});
  }
  std::stable_sort(out.begin(), out.end(), [](const JobFinding& a, const JobFinding& b) {
    const auto stops = [](const JobFinding& one) { return one.finding.id == "shm-full"; };
    return stops(a) != stops(b) ? stops(a) : a.finding.bytes > b.finding.bytes;
  });
  return out;
}

} // namespace memtrace::report
