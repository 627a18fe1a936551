// Purpose: finds what a death proves: the cause, memory held twice, the allocation that failed.
#include "analyzer/findings/process/deaths.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>

#include "analyzer/explain/block_owner.h"
#include "analyzer/explain/holder_rows.h"
#include "analyzer/explain/segment_use.h"
#include "analyzer/explain/thresholds.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::KnownPhase;
using replay::Role;

// A state dict held beside its model, both made while loading.
struct Copies {
  std::uint64_t state = 0; // bytes read from a checkpoint
  std::uint64_t model = 0;
  std::uint64_t blocks = 0; // of the state dict
  format::StackId site{};   // the site that read most of it
};

Copies copies(ProcessAnalysis& analysis) {
  Copies out;
  for (const replay::Holding& holding :
       analysis.set({0, replay::Measure::tensor, analysis.death->then.at})) { // largest first
    const BlockOwner holder = owner_of(analysis, holding);
    if (holder.role == Role::parameter) out.model += holding.bytes;
    if (holder.role != Role::staging || holding.born_known != KnownPhase::load) continue;
    if (out.state == 0) out.site = holding.stack;
    out.state += holding.bytes;
    out.blocks += holding.blocks;
  }
  return out;
}

Finding finding_of(const ProcessAnalysis& analysis, const char* id) {
  Finding finding;
  finding.id = id;
  finding.phase = analysis.account.paths.text(analysis.account.paths.last(analysis.death->then.place.path));
  finding.step = analysis.death->then.place.step;
  return finding;
}

std::string of_limit(const Death& death) {
  return death.limit ? fmt::format("{} of {}", sized(*death.limit), death.limit_of)
                     : "a limit that is not known";
}

void second_copy(ProcessAnalysis& analysis, Findings& out) {
  const Death& death = *analysis.death;
  if (!killed_for_memory(analysis.end) && death.failure == nullptr) return;
  const Copies held = copies(analysis);
  if (!worthwhile(static_cast<std::int64_t>(std::min(held.state, held.model)), death.then.level.live)) return;
  Finding finding = finding_of(analysis, "second-copy-on-load");
  finding.bytes = static_cast<std::int64_t>(held.state);
  finding.certain = analysis.losses.total() == 0;
  finding.site = held.site;
  finding.title = fmt::format("a state dict of {} was held beside the model it is for", sized(held.state));
  finding.evidence = {fmt::format("{} bytes in {} tensors, read by {}, alive at the end", held.state,
                                  held.blocks, analysis.symbolizer->site(held.site).title()),
                      fmt::format("{} bytes of tensors that modules made, alive at the end", held.model)};
  finding.remedy = fmt::format(
      "build the model under torch.device(\"meta\"), then load_state_dict(torch.load(file, mmap=True), "
      "assign=True): it makes no copy, -{}; or del the state dict once it is loaded, before the model is "
      "converted or moved",
      sized(held.state));
  out.push_back(std::move(finding));
}

// Returns "less of X, or ", where X is the largest holder whose role training does not keep, or "".
std::string avoidable(ProcessAnalysis& analysis) {
  const Death& death = *analysis.death;
  for (const HolderRow& row :
       holder_rows(analysis, analysis.set({0, replay::Measure::live, death.then.at}), HolderDetail::by_line)) {
    if (row.line.empty() || replay::is_kept(row.role)) continue;
    if (!worthwhile(row.bytes, death.then.level.live)) break;
    return fmt::format("less of the largest holder, {} at {} ({}), or ", size(row.bytes), row.line, row.use);
  }
  return "";
}

void oom_kill(ProcessAnalysis& analysis, Findings& out) {
  if (analysis.end.how != "oom_kill") return;
  const Death& death = *analysis.death;
  Finding finding = finding_of(analysis, "oom-kill");
  finding.bytes = death.then.level.live;
  finding.certain = analysis.end.certain;
  finding.title = fmt::format("the kernel killed it for memory: {}", of_limit(death));
  finding.evidence = analysis.end.evidence;
  if (death.filling) {
    finding.site = death.filling->block.stack;
    finding.evidence.push_back(fmt::format("the newest large block has {} bytes", death.filling->block.bytes));
  } else if (!death.then.births.empty()) {
    finding.site = death.then.births.front().stack;
  }
  finding.remedy = avoidable(analysis) + "a higher limit";
  out.push_back(std::move(finding));
}

// Adds the memory that PyTorch's allocator held then and could not use. It releases empty segments before it
// gives up.
void between_blocks(const ProcessAnalysis& analysis, const trace::Failure& failure, Finding& finding) {
  if (!analysis.death_segments) return;
  const Unused unused = unused_of(*analysis.death_segments);
  if (unused.sum() == 0) return;
  finding.evidence.push_back(
      fmt::format("{} bytes unused beside blocks in {} segments, {} bytes in {} empty ones", unused.kept,
                  unused.keeping, unused.empty, unused.empties));
  finding.sentences.push_back(fmt::format("Unused in the allocator's segments were {}.", in_words(unused)));
  if (unused.kept >= failure.asked)
    finding.remedy =
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: more than was asked for lay unused beside "
        "blocks; or " +
        finding.remedy;
}

void failed(ProcessAnalysis& analysis, Findings& out) {
  const Death& death = *analysis.death;
  if (death.failure == nullptr) return;
  const trace::Failure& failure = *death.failure;
  const bool device = failure.memory != 0;
  Finding finding = finding_of(analysis, device ? "cuda-oom" : "allocation-failed");
  finding.memory = static_cast<replay::MemoryId>(failure.memory);
  finding.bytes = static_cast<std::int64_t>(failure.asked);
  finding.site = failure.stack;
  const std::string line =
      failure.stack == format::StackId{} ? "" : analysis.symbolizer->site(failure.stack).own_line;
  finding.title =
      fmt::format("an allocation of {}{}{} failed", sized(failure.asked), line.empty() ? "" : " at ", line);
  if (device) {
    finding.title += " on " + memory_name(finding.memory);
    if (death.limit)
      finding.title += fmt::format(", of which {} of {} were free", sized(failure.free), sized(*death.limit));
  } else if (death.limit) {
    finding.title += " at the limit " + of_limit(death);
  }
  finding.evidence = {fmt::format("{} bytes asked for, error {}, {} bytes live then", failure.asked,
                                  failure.code, failure.live)};
  if (device && death.limit)
    finding.evidence.push_back(
        fmt::format("{} of {} bytes of {} free", failure.free, failure.total, memory_name(finding.memory)));
  if (death.limit && death.charge && !device)
    finding.evidence.push_back(fmt::format("{}: {} bytes used of {} at the closest sample", death.limit_of,
                                           *death.charge, *death.limit));
  finding.remedy = death.limit_of.starts_with("RLIMIT") && !device
                       ? fmt::format("raise {} (ulimit), or ask for less", death.limit_of)
                       : "ask for less at once, or free what the table shows";
  if (device) between_blocks(analysis, failure, finding);
  out.push_back(std::move(finding));
}

// Writing to a page of /dev/shm without room ends in SIGBUS.
void shm_full(ProcessAnalysis& analysis, Findings& out) {
  const Death& death = *analysis.death;
  if (!death.unfit) return;
  const trace::MachineSample& machine = *death.last.samples.machine();
  const replay::RecentBirth& block = *death.last.shared;
  Finding finding = finding_of(analysis, "shm-full");
  finding.bytes = static_cast<std::int64_t>(block.bytes);
  finding.site = block.stack;
  finding.certain = analysis.end.how == "signal" && analysis.end.code == SIGBUS;
  finding.title = fmt::format("{} of shared memory did not fit into /dev/shm, which has {}", sized(block.bytes),
                              sized(machine.shm_size));
  finding.evidence = {
      fmt::format("the newest shared block has {} bytes", block.bytes),
      fmt::format("{} of {} bytes of /dev/shm were used at the last look", machine.shm_used, machine.shm_size),
      fmt::format("{} bytes of shared memory were resident at the last sample", death.resident.shmem)};
  const auto& first = death.last.samples.first_machine();
  if (first && first->shm_used != trace::kNotSaid)
    finding.evidence.push_back(fmt::format("{} bytes were in it when recording began", first->shm_used));
  finding.remedy =
      "a larger /dev/shm (docker run --shm-size, a memory-backed emptyDir), fewer workers or a smaller "
      "prefetch_factor";
  out.push_back(std::move(finding));
}

} // namespace

Findings find_in_death(ProcessAnalysis& analysis) {
  Findings out;
  oom_kill(analysis, out);
  failed(analysis, out);
  shm_full(analysis, out);
  second_copy(analysis, out);
  return out;
}

} // namespace memtrace::report
