// Purpose: follows one process: each refresh replays what its trace got since, and gives the figures of now.
#include "analyzer/live/live_process.h"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "analyzer/decode/read_error.h"
#include "analyzer/evidence/watched_ends.h"
#include "analyzer/explain/process_analysis.h"
#include "analyzer/job/process_alive.h"
#include "analyzer/job/process_end.h"
#include "analyzer/live/limits_now.h"
#include "analyzer/live/recent_growth.h"
#include "analyzer/replay/percentile.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::live {
namespace {

constexpr std::uint64_t kMarginNs = 5'000'000; // between the stamp of a record and its commit
constexpr std::size_t kGrowthSteps = 64;

std::uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

double seconds_between(format::Stamp from, format::Stamp to) {
  return to < from ? 0 : static_cast<double>(to - from) / 1e9;
}

std::string path_words(const replay::Paths& paths, replay::PathId path) {
  std::string out;
  for (const std::string& name : paths.texts(path)) out += (out.empty() ? "" : "/") + report::phase_words(name);
  return report::printable(out);
}

} // namespace

void LiveProcess::begin_again() {
  replay_.reset();
  groups_.reset();
  symbolizer_.reset();
  modules_ = 0;
  const bool named = detail_ == LiveDetail::all; // by the user, or beside a file that the user named
  trace_ =
      std::make_unique<trace::FollowedTrace>(now_.path, named ? files::Origin::named : files::Origin::found);
  recent_ = std::make_unique<RecentSteps>();
  replay_ = std::make_unique<replay::FollowedReplay>(trace_->definitions(), trace_->facts(), *recent_);
}

bool LiveProcess::is_running() const {
  return !trace_->facts().end && report::running(trace_->facts());
}

// Stamps are of this machine's clock only if the process is on this machine.
void LiveProcess::follow(bool running) {
  const format::Stamp until = running ? monotonic_ns() - kMarginNs : ~format::Stamp{0};
  const auto take = [this](std::span<const trace::Event> events) { replay_->take(events); };
  if (trace_->refresh(until, take)) return;
  begin_again();
  trace_->refresh(until, take);
}

void LiveProcess::refresh() try {
  if (over_) return;
  if (!trace_) begin_again();
  const bool running = is_running();
  follow(running);
  read_at_ = static_cast<double>(monotonic_ns()) / 1e9;
  now_.error.clear();
  now_.running = is_running();
  describe();
  if (running || now_.running) return;
  if (detail_ == LiveDetail::all) return note_end();
  over_ = true;
} catch (const trace::ReadError& error) {
  read_at_ = static_cast<double>(monotonic_ns()) / 1e9;
  now_.error = report::printable(error.what());
  trace_.reset();
}

// Reads how the process ended, without a query of outside evidence: that would write beside the trace.
void LiveProcess::note_end() {
  const trace::Facts& facts = trace_->facts();
  report::ProcessEnd end = report::read_end(trace::Trace(now_.path));
  if (end.how == "unknown") {
    const std::filesystem::path path(now_.path);
    const std::string directory = path.parent_path().empty() ? "." : path.parent_path().string();
    const std::vector<evidence::End> seen = evidence::read_ends(directory);
    if (const evidence::End* const watched = evidence::end_of(seen, path.stem().string()))
      report::apply_evidence(end, *watched);
  }
  if (end.how == "unknown" && !report::same_kernel(facts)) {
    now_.end = "on host " + report::printable(facts.host) + ", and its trace does not say that it ended";
    return; // it may still run
  }
  now_.end = end.how == "unknown" ? "ended, and its trace does not say how" : report::ended(end);
  now_.replaced = end.how == "exec";
  // An exit status tells a failure of a rank or of the program itself; a child of a script often has one.
  const bool matters = now_.rank || !facts.fork;
  now_.ended_badly =
      !now_.replaced && end.how != "stopped" && (end.how != "exit" || (end.code != 0 && matters));
  over_ = true;
}

void LiveProcess::describe() {
  const trace::Facts& facts = trace_->facts();
  now_.script = report::script(facts);
  now_.host = report::printable(facts.host);
  now_.pid = facts.pid;
  now_.rank = facts.rank == trace::kNoRank ? std::nullopt : std::optional(facts.rank);
  now_.job = facts.job;
  const format::Stamp last = now_.running ? monotonic_ns() : recent_->last();
  now_.seconds = seconds_between(facts.start_stamp, last);
  if (const auto& process = trace_->samples().process()) {
    now_.resident = process->anon + process->file + process->shmem;
    now_.swap = process->swap;
  }
  now_.lost = 0;
  if (const trace::Rings* const rings = trace_->rings())
    for (std::size_t i = 0; i < format::kLosses; ++i)
      if (static_cast<format::Loss>(i) != format::Loss::stacks) now_.lost += rings->header.lost[i];
  if (!groups_ || modules_ != trace_->definitions().modules().size() ||
      parameters_ != facts.parameters.has_value()) {
    modules_ = trace_->definitions().modules().size();
    parameters_ = facts.parameters.has_value();
    groups_ = std::make_unique<replay::BlockGroups>(trace_->definitions(), facts, Step::none);
    symbolizer_ = std::make_unique<symbols::Symbolizer>(trace_->definitions(), facts);
  }
  for (const replay::Block& block : recent_->take_labels()) groups_->labelled(block);
  describe_place();
  describe_memories();
  if (detail_ == LiveDetail::all) describe_large();
  describe_roles();
  now_.limits = limits_now(*trace_, now_.memories);
}

void LiveProcess::describe_place() {
  const replay::PhasePosition& place = recent_->place();
  now_.phase = place.path == replay::PathId::other ? "" : path_words(replay_->phases().paths(), place.path);
  const Step step = replay_->phases().step();
  now_.step = step == Step::none ? std::nullopt : std::optional(static_cast<std::int64_t>(step));
  now_.phases_of = static_cast<std::int64_t>(recent_->phases_of());
  std::vector<double> each;
  const auto& steps = recent_->steps();
  for (std::size_t i = steps.size() > kGrowthSteps ? steps.size() - kGrowthSteps : 1; i < steps.size(); ++i)
    if (steps[i - 1].step != Step::none) each.push_back(seconds_between(steps[i - 1].began, steps[i].began));
  now_.step_seconds = each.empty() ? 0 : replay::median(std::move(each));
}

// Uses the begins of the last steps. Without steps, uses the samples of the last minutes.
void LiveProcess::describe_growth(MemoryNow& memory) {
  std::vector<GrowthPoint> series;
  const auto& steps = recent_->steps();
  std::size_t first = steps.size() > kGrowthSteps ? steps.size() - kGrowthSteps : 0;
  if (steps.size() > 8) first = std::max<std::size_t>(first, 2); // the first steps make what later ones retain
  for (std::size_t i = first; i < steps.size(); ++i)
    if (steps[i].step != Step::none)
      series.push_back({static_cast<double>(steps[i].step), level_in(steps[i].begin, memory.memory)});
  const bool stepping = series.size() >= 4 && now_.step_seconds > 0 &&
                        seconds_between(steps.back().began, recent_->last()) < 20 * now_.step_seconds + 10;
  if (stepping) {
    const double per_step = growth(series);
    memory.per_step = static_cast<std::int64_t>(per_step);
    memory.per_second = per_step / now_.step_seconds;
    return;
  }
  if (memory.memory != 0) return;
  series.clear();
  for (const SampledLevel& sample : recent_->sampled())
    series.push_back({static_cast<double>(sample.stamp) / 1e9, sample.live});
  if (series.size() >= 8) memory.per_second = growth(series);
}

std::uint64_t LiveProcess::used_of(std::size_t memory, std::int64_t live) const {
  const auto sampled = recent_->device_uses().find(memory);
  const std::int64_t others = sampled == recent_->device_uses().end()
                                  ? 0
                                  : static_cast<std::int64_t>(sampled->second.used) - sampled->second.live;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(live, 0) + std::max<std::int64_t>(others, 0));
}

void LiveProcess::describe_memories() {
  now_.memories.clear();
  const format::SmallTotals rest = trace_->not_carried();
  for (std::size_t i = 0; i < recent_->memories(); ++i) {
    const replay::Level& level = replay_->ledger().level(static_cast<MemoryId>(i));
    MemoryNow memory;
    memory.memory = static_cast<unsigned>(i);
    memory.name = report::memory_name(static_cast<MemoryId>(i));
    memory.live = level.live;
    memory.tensor = level.tensor;
    memory.used = used_of(i, level.live);
    if (i == 0) memory.live += static_cast<std::int64_t>(rest.allocated - rest.freed);
    for (const RecentStep& step : recent_->steps())
      if (step.step != Step::none)
        memory.steps.push_back(
            {static_cast<std::int64_t>(step.step), level_in(step.begin, i), level_in(step.peak, i)});
    for (const auto& [path, figures] : recent_->path_table())
      if (path != replay::PathId::other)
        memory.phases.push_back({path_words(replay_->phases().paths(), path), level_in(figures.peak, i),
                                 level_in(figures.net, i), level_in(figures.transient, i)});
    std::stable_sort(memory.phases.begin(), memory.phases.end(),
                     [](const PhaseNow& a, const PhaseNow& b) { return a.peak > b.peak; });
    memory.phases_of_tensors = recent_->of_tensors(i);
    describe_growth(memory);
    now_.memories.push_back(std::move(memory));
  }
}

void LiveProcess::describe_large() {
  const format::Stamp now = now_.running ? monotonic_ns() : recent_->last();
  for (const LargeBirth& birth : recent_->large()) {
    LargeNow large;
    large.bytes = birth.bytes;
    large.times = birth.times;
    large.ago = seconds_between(birth.stamp, now);
    if (birth.place.path != replay::PathId::other)
      large.phase = path_words(replay_->phases().paths(), birth.place.path);
    if (birth.stack != format::StackId{}) {
      const symbols::Site& site = symbolizer_->site(birth.stack);
      large.site = report::printable(site.op.empty() ? site.line() : site.op + "  " + site.line());
    }
    if (birth.memory < now_.memories.size()) now_.memories[birth.memory].large.push_back(std::move(large));
  }
}

// The names are those of a report: a role, else "tensor" or the kind of the block. On a GPU only tensors count:
// they lie inside the blocks that the driver gave.
void LiveProcess::describe_roles() {
  std::vector<std::map<std::string, std::int64_t>> sums(now_.memories.size());
  replay_->ledger().each_alive([&](const replay::Block& block) {
    const bool counts = block.memory == 0 ? block.counted : block.tensor;
    if (block.sampled || !counts || block.memory >= sums.size()) return;
    replay::HoldingGroup group = groups_->of_survivor(block, replay_->phases());
    groups_->settle(group);
    const std::string name =
        group.role != replay::Role::unknown ? report::words_of(replay::role_name(group.role))
        : group.tensor                      ? "tensor"
                       : report::words_of(format::kKindNames[static_cast<std::size_t>(group.kind)]);
    sums[block.memory][name] +=
        static_cast<std::int64_t>(block.memory == 0 ? block.given : block.tensor_bytes());
  });
  for (std::size_t i = 0; i < sums.size(); ++i) {
    MemoryNow& memory = now_.memories[i];
    std::int64_t left = memory.live;
    for (const auto& [name, bytes] : sums[i]) {
      memory.roles.push_back({name, bytes});
      left -= bytes;
    }
    if (const std::int64_t before = std::min(memory.tensor - (memory.live - left), left);
        i != 0 && trace_->facts().before && before > 0) {
      memory.roles.push_back({"before recording", before});
      left -= before;
    }
    if (left > 0)
      memory.roles.push_back({i == 0 ? report::uncovered_row(trace_->facts()) : "not in tensors", left});
    std::stable_sort(memory.roles.begin(), memory.roles.end(),
                     [](const RoleNow& a, const RoleNow& b) { return a.bytes > b.bytes; });
  }
}

} // namespace memtrace::live
