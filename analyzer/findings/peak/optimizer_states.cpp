// Purpose: finds optimizer states that appear in the first step, when there is hardly room for them.
#include "analyzer/findings/peak/optimizer_states.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/explain/thresholds.h"
#include "analyzer/findings/common/finding_at_peak.h"
#include "analyzer/passes/limit_proximity.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::Holding;
using replay::KnownPhase;
using replay::Measure;
using replay::MemoryId;
using replay::Role;
using replay::Step;

constexpr Step kLast{1}; // the last of the first two steps
constexpr double kNear = 0.9;

// A death or a nearly reached limit in the first two steps.
struct Meeting {
  MemoryId memory = 0;
  Step step = Step::none;
  replay::Instant at; // the instant whose blocks are examined
  std::uint64_t held; // bytes of tensors at that instant
  std::string what;
};

struct States {
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  format::StackId site{};
  std::vector<format::StackId> stacks;
  Step step = Step::none;
};

// A step that was cut off did not record the roles of its tensors. Its states are the tensors that it made and
// did not free.
States states(const ProcessAnalysis& analysis, const replay::Instant& instant) {
  States out;
  for (const Holding& holding : analysis.set(instant)) { // largest first
    const bool made = holding.born_known == KnownPhase::step && holding.role == Role::unknown && holding.tensor;
    if (holding.role != Role::optimizer_state && !made) continue;
    if (holding.born_step == Step::none || holding.born_step > kLast) continue;
    if (out.bytes == 0) out.site = holding.stack, out.step = holding.born_step;
    out.stacks.push_back(holding.stack);
    out.bytes += holding.bytes;
    out.blocks += holding.blocks;
  }
  return out;
}

std::optional<Meeting> death_of(const ProcessAnalysis& analysis) {
  if (!analysis.death || (!killed_for_memory(analysis.end) && analysis.death->failure == nullptr))
    return std::nullopt;
  const DeathInstant& then = analysis.death->then;
  if (then.place.step == Step::none || then.place.step > kLast) return std::nullopt;
  std::string what =
      killed_for_memory(analysis.end)
          ? (analysis.end.manager.empty() ? std::string("the kernel") : analysis.end.manager) + " killed it"
          : fmt::format("an allocation of {} failed", sized(analysis.death->failure->asked));
  if (analysis.death->limit)
    what += fmt::format(" at {} of {}", sized(*analysis.death->limit), analysis.death->limit_of);
  return Meeting{then.memory,
                 then.place.step,
                 {then.memory, Measure::tensor, then.at},
                 static_cast<std::uint64_t>(std::max<std::int64_t>(then.level.tensor, 0)),
                 std::move(what)};
}

Meeting meeting_at_peak(const ProcessAnalysis& analysis, MemoryId memory, Step step, std::string what) {
  const replay::Peak& peak = analysis.account.peaks.at(memory).tensor;
  return {memory,
          step,
          {memory, Measure::tensor, peak.at},
          static_cast<std::uint64_t>(std::max<std::int64_t>(peak.bytes, 0)),
          std::move(what)};
}

// False if no cgroup ever came near its limit, which avoids the pass.
bool may_be_near(const ProcessAnalysis& analysis) {
  const auto& groups = analysis.trace->samples().groups();
  return std::any_of(groups.begin(), groups.end(), [](const trace::SampledCgroup& group) {
    return group.highest && group.highest->limit != trace::kNotSaid &&
           static_cast<double>(group.highest->charge) >= kNear * static_cast<double>(group.highest->limit);
  });
}

void near_of_groups(const ProcessAnalysis& analysis, std::vector<Meeting>& out) {
  if (!may_be_near(analysis)) return;
  const auto near = replay::nearest_limit(*analysis.trace, kLast);
  if (!near || !near->within(kNear)) return;
  out.push_back(
      meeting_at_peak(analysis, 0, near->step,
                      fmt::format("{} of {} of cgroup {} were used", sized(near->used), sized(near->limit),
                                  analysis.trace->definitions().text(near->group))));
}

void near_of_cards(const ProcessAnalysis& analysis, std::vector<Meeting>& out) {
  for (const auto& [memory, device] : analysis.facts().devices) {
    const auto id = static_cast<MemoryId>(memory);
    if (device.total == 0 || !analysis.account.peaks.contains(id)) continue;
    for (const replay::Row& row : analysis.account.rows) {
      if (row.step == Step::none || row.step > kLast || row.count == 0) continue;
      const std::int64_t used =
          std::max({row.of(id).used.peak, row.of(id).reserved.peak, row.of(id).live.peak});
      if (static_cast<double>(used) < kNear * static_cast<double>(device.total)) continue;
      out.push_back(meeting_at_peak(
          analysis, id, row.step,
          fmt::format("{} of {} of {} were used", size(used), sized(device.total), memory_name(id))));
      break;
    }
  }
}

std::string optimizer_of(const ProcessAnalysis& analysis) {
  const auto name = analysis.facts().note("optimizer");
  return name ? name->substr(0, name->find(' ')) : "the optimizer";
}

Finding finding_of(const ProcessAnalysis& analysis, const Meeting& meeting, const States& states) {
  Finding finding;
  finding.id = "optimizer-states-first-step";
  finding.memory = meeting.memory;
  finding.phase = "step";
  finding.step = states.step;
  finding.bytes = static_cast<std::int64_t>(states.bytes);
  finding.certain = analysis.losses.total() == 0;
  finding.site = states.site;
  finding.stacks = states.stacks;
  const std::string of = sized(states.bytes) + times_parameters(analysis, states.bytes);
  const auto step = static_cast<std::int64_t>(meeting.step);
  finding.title = fmt::format("the optimizer states of {} came in step {}: {}", optimizer_of(analysis),
                              static_cast<std::int64_t>(states.step), of);
  finding.evidence = {
      fmt::format("{} bytes in {} tensors, made by the optimizer in step {}, of {} bytes of tensors",
                  states.bytes, states.blocks, static_cast<std::int64_t>(states.step), meeting.held),
      fmt::format("in step {} {}", step, meeting.what)};
  finding.sentences = {
      fmt::format("In step {} {}.", step, meeting.what),
      "An optimizer makes its states in its first update and keeps them, so what fitted before it "
      "does not fit any more; later steps need no more of them."};
  finding.remedy = fmt::format(
      "room for them, or smaller ones: an optimizer with fewer (SGD, Adafactor) or 8-bit states, states shared "
      "between ranks (ZeRO, FSDP) or elsewhere (offload): up to -{}",
      sized(states.bytes));
  finding.no_remedy = "a try-out of forward and backward alone: it has no states yet";
  return finding;
}

} // namespace

Findings find_states(ProcessAnalysis& analysis) {
  std::vector<Meeting> meetings;
  if (auto death = death_of(analysis)) {
    meetings.push_back(std::move(*death));
  } else if (!analysis.death) {
    near_of_groups(analysis, meetings);
    near_of_cards(analysis, meetings);
  }
  Findings out;
  for (const Meeting& meeting : meetings) {
    const States made = states(analysis, meeting.at);
    if (worthwhile(static_cast<std::int64_t>(made.bytes), static_cast<std::int64_t>(meeting.held)))
      out.push_back(finding_of(analysis, meeting, made));
  }
  return out;
}

} // namespace memtrace::report
