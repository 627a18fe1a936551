// Purpose: optimizer states that come in the first step, where there is hardly room for them.
#include "analyzer/findings/peak/optimizer_states.h"

#include <fmt/format.h>

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
using replay::Known;
using replay::Measure;
using replay::MemoryId;
using replay::Role;
using replay::Step;

constexpr Step kLast{1}; // of the first two
constexpr double kNear = 0.9;

// What the first two steps met.
struct Meeting {
  MemoryId memory = 0;
  Step step = Step::none;
  replay::Instant at; // to look at
  std::uint64_t held; // bytes of tensors then
  std::string what;
};

struct States {
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  format::StackId site{};
  Step step = Step::none;
};

// A step that was cut off did not say what its tensors are for: they are what it made and did not free.
States states(const View& view, const replay::Instant& instant) {
  States out;
  for (const Holding& holding : view.set(instant)) { // largest first
    const bool made = holding.born_known == Known::step && holding.role == Role::unknown && holding.tensor;
    if (holding.role != Role::optimizer_state && !made) continue;
    if (holding.born_step == Step::none || holding.born_step > kLast) continue;
    if (out.bytes == 0) out.site = holding.stack, out.step = holding.born_step;
    out.bytes += holding.bytes;
    out.blocks += holding.blocks;
  }
  return out;
}

std::optional<Meeting> death_of(const View& view) {
  if (!view.death || (view.end.how != "oom_kill" && view.death->failure == nullptr)) return std::nullopt;
  const Juncture& then = view.death->then;
  if (then.place.step == Step::none || then.place.step > kLast) return std::nullopt;
  std::string what = view.end.how == "oom_kill"
                         ? std::string("the kernel killed it")
                         : fmt::format("an allocation of {} failed", sized(view.death->failure->asked));
  if (view.death->limit) what += fmt::format(" at {} of {}", sized(*view.death->limit), view.death->limit_of);
  return Meeting{then.memory,
                 then.place.step,
                 {then.memory, Measure::tensor, then.at},
                 static_cast<std::uint64_t>(std::max<std::int64_t>(then.level.tensor, 0)),
                 std::move(what)};
}

Meeting meeting_at_peak(const View& view, MemoryId memory, Step step, std::string what) {
  const replay::Peak& peak = view.account.peaks.at(memory).tensor;
  return {memory,
          step,
          {memory, Measure::tensor, peak.at},
          static_cast<std::uint64_t>(std::max<std::int64_t>(peak.bytes, 0)),
          std::move(what)};
}

// Spares the pass where no cgroup ever came near.
bool may_be_near(const View& view) {
  const auto& groups = view.trace->samples().groups();
  return std::any_of(groups.begin(), groups.end(), [](const trace::Group& group) {
    return group.highest && group.highest->limit != trace::kNotSaid &&
           static_cast<double>(group.highest->charge) >= kNear * static_cast<double>(group.highest->limit);
  });
}

void near_of_groups(const View& view, std::vector<Meeting>& out) {
  if (!may_be_near(view)) return;
  const auto near = replay::nearest_limit(*view.trace, kLast);
  if (!near || !near->within(kNear)) return;
  out.push_back(meeting_at_peak(view, 0, near->step,
                                fmt::format("{} of {} of cgroup {} were used", sized(near->used),
                                            sized(near->limit), view.trace->definitions().text(near->group))));
}

void near_of_cards(const View& view, std::vector<Meeting>& out) {
  for (const auto& [memory, device] : view.facts().devices) {
    const auto id = static_cast<MemoryId>(memory);
    if (device.total == 0 || !view.account.peaks.contains(id)) continue;
    for (const replay::Row& row : view.account.rows) {
      if (row.step == Step::none || row.step > kLast || row.count == 0) continue;
      const std::int64_t used = std::max(row.of(id).used.peak, row.of(id).reserved.peak);
      if (static_cast<double>(used) < kNear * static_cast<double>(device.total)) continue;
      out.push_back(meeting_at_peak(
          view, id, row.step,
          fmt::format("{} of {} of {} were used", size(used), sized(device.total), memory_name(id))));
      break;
    }
  }
}

std::string optimizer_of(const View& view) {
  const auto name = view.facts().note("optimizer");
  return name ? name->substr(0, name->find(' ')) : "the optimizer";
}

Finding finding_of(const View& view, const Meeting& meeting, const States& states) {
  Finding finding;
  finding.id = "optimizer-states-first-step";
  finding.memory = meeting.memory;
  finding.phase = "step";
  finding.step = states.step;
  finding.bytes = static_cast<std::int64_t>(states.bytes);
  finding.certain = view.losses.total() == 0;
  finding.site = states.site;
  const std::string of = sized(states.bytes) + times_parameters(view, states.bytes);
  const auto step = static_cast<std::int64_t>(meeting.step);
  finding.title = fmt::format("the states of {} came in step {}: {}", optimizer_of(view),
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
      "between "
      "ranks (ZeRO, FSDP) or elsewhere (offload): up to -{}",
      sized(states.bytes));
  finding.no_remedy = "a try-out of forward and backward alone: it has no states yet";
  return finding;
}

} // namespace

Findings find_states(View& view) {
  std::vector<Meeting> meetings;
  if (auto death = death_of(view)) {
    meetings.push_back(std::move(*death));
  } else if (!view.death) {
    near_of_groups(view, meetings);
    near_of_cards(view, meetings);
  }
  Findings out;
  for (const Meeting& meeting : meetings) {
    const States made = states(view, meeting.at);
    if (worthwhile(static_cast<std::int64_t>(made.bytes), static_cast<std::int64_t>(meeting.held)))
      out.push_back(finding_of(view, meeting, made));
  }
  return out;
}

} // namespace memtrace::report
