// Purpose: watches the memory of a job while it runs: warns when a limit comes near, and writes metrics.
#include "analyzer/cli/watch/job_watch.h"

#include <fmt/core.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "analyzer/cli/watch/warning_text.h"
#include "analyzer/watch/look_pace.h"

namespace memtrace::cli {
namespace {

constexpr std::uint64_t kProcessesNs = 250'000'000; // between two looks for new processes, at least
constexpr std::uint64_t kViewsNs = 250'000'000;     // between two copies of what the traces say
constexpr std::uint64_t kShare = 100;               // a look for processes takes one part of the time at most
constexpr int kPhaseMs = 50;                        // a warning waits so long for the present phase
constexpr int kPatienceMs = 30'000;                 // for the command, after the program's end

std::uint64_t time_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t cpu_now() {
  return time_of(CLOCK_THREAD_CPUTIME_ID);
}

std::uint64_t due_after(std::uint64_t now, std::uint64_t least, std::uint64_t cost) {
  return now + std::max(least, cost * kShare);
}

std::string device_name(unsigned index) {
  return fmt::format("cuda:{}", index);
}

const TraceView* trace_of(int pid, const std::vector<TraceView>& traces) {
  const auto at =
      std::find_if(traces.begin(), traces.end(), [pid](const TraceView& one) { return one.pid == pid; });
  return at != traces.end() ? &*at : nullptr;
}

// Returns the process that holds most of a device, or 0.
int holder_of(const std::string& device, const std::vector<TraceView>& traces) {
  int holder = 0;
  std::int64_t most = -1;
  for (const TraceView& trace : traces) {
    for (const auto& [index, use] : trace.devices) {
      if (device != device_name(index) || !trace.header || index + 1 >= std::size(trace.header->live)) continue;
      const auto live = static_cast<std::int64_t>(trace.header->live[index + 1]);
      if (live <= most) continue;
      most = live;
      holder = trace.pid;
    }
  }
  return holder;
}

} // namespace

JobWatch::JobWatch(const WatchArguments& arguments, WatchedJob job)
    : arguments_(arguments),
      job_(std::move(job)),
      limits_(arguments.threshold()),
      crossings_(arguments.threshold()),
      command_(arguments.on_near_limit, job_.preload),
      metrics_(arguments.metrics_file),
      traces_(job_.traces, arguments.metrics_roles) {}

void JobWatch::follow_processes(std::uint64_t now) {
  const std::uint64_t before = cpu_now();
  pids_ = watch::process_tree(job_.command);
  // A daemon is no descendant, but may have a trace.
  for (const TraceView& trace : views_)
    if (std::find(pids_.begin(), pids_.end(), trace.pid) == pids_.end()) pids_.push_back(trace.pid);
  limits_.follow(pids_);
  resident_.add(now, pids_);
  processes_due_ = due_after(now, kProcessesNs, cpu_now() - before);
}

// Of several processes that use a device, the last sample counts: each gives the use by all.
void JobWatch::add_devices(std::vector<watch::LimitUse>& uses) const {
  std::map<unsigned, watch::DeviceUse> devices;
  for (const TraceView& trace : views_)
    for (const auto& [index, use] : trace.devices)
      if (devices[index].used <= use.used) devices[index] = use;
  for (const auto& [index, use] : devices)
    uses.push_back({watch::LimitKind::device, device_name(index), 0, use.used, use.total});
}

// Returns the pause until the next look, in ns.
std::uint64_t JobWatch::look(std::uint64_t now) {
  uses_ = limits_.read();
  add_devices(uses_);
  if (!arguments_.warns()) return watch::kLongestLookNs;
  if (const auto near = crossings_.look(now, uses_)) warn(now, *near);
  return watch::look_pause(limits_.until_near(uses_), cost_);
}

void JobWatch::warn(std::uint64_t now, const watch::LimitUse& use) {
  follow_processes(now); // a child that began just now may be the one that grew
  views_ = traces_.views_within(kPhaseMs);
  NearLimit near;
  near.use = use;
  if (use.kind == watch::LimitKind::device) {
    near.pid = holder_of(use.name, views_);
  } else {
    near.grown = resident_.most_grown(now);
    near.pid = use.pid != 0 ? use.pid : near.grown ? near.grown->pid : resident_.largest();
  }
  near.command = job_.command;
  const int shown = near.grown ? near.grown->pid : near.pid;
  near.program = watch::program_name(shown);
  if (const TraceView* const trace = trace_of(shown, views_)) {
    near.phase = trace->phase;
    near.step = trace->step;
  }
  if (!views_.empty()) near.directory = views_.front().directory;
  if (!job_.quiet) std::fprintf(stderr, "memtrace: run: near a limit: %s\n", warning_text(near).c_str());
  command_.start(warning_variables(near));
}

// Returns false if the other end of `until` was closed.
bool JobWatch::wait(int until, std::uint64_t pause) {
  std::vector<pollfd> waiting = {{until, POLLIN, 0}};
  limits_.add_alarms(waiting);
  const timespec time{static_cast<time_t>(pause / 1'000'000'000), static_cast<long>(pause % 1'000'000'000)};
  if (::ppoll(waiting.data(), waiting.size(), &time, nullptr) <= 0) return true;
  limits_.take_alarms(waiting);
  return waiting.front().revents == 0;
}

void JobWatch::run(int until) {
  for (bool runs = true; runs;) {
    const std::uint64_t now = time_of(CLOCK_MONOTONIC);
    if (now >= views_due_) {
      views_ = traces_.views();
      views_due_ = now + kViewsNs;
    }
    if (now >= processes_due_) follow_processes(now);
    std::uint64_t cost = cpu_now();
    const std::uint64_t pause = look(now);
    cost = cpu_now() - cost;
    command_.reap();
    metrics_.write_if_due(now, pids_, views_, uses_);
    const std::uint64_t before = cpu_now(); // waking up costs about as much as the reading
    runs = wait(until, pause);
    cost += cpu_now() - before;
    cost_ = cost_ == 0 ? cost : (7 * cost_ + cost) / 8;
  }
  if (command_.is_running()) command_.wait_at_most(kPatienceMs);
}

} // namespace memtrace::cli
