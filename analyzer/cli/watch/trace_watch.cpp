// Purpose: follows the traces of a running job on a thread of its own: a file system that hangs, or a trace
// that grows fast, must not delay the look at the limits.
#include "analyzer/cli/watch/trace_watch.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <mutex>
#include <new>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "analyzer/files/read_budget.h"
#include "analyzer/job/shared_place.h"
#include "analyzer/live/live_process.h"
#include "analyzer/watch/process_tree.h"
#include "analyzer/watch/step_growth.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLeastPause = std::chrono::seconds(1);
constexpr auto kMostPause = std::chrono::seconds(5);
constexpr int kPauseShare = 20; // a reading takes one part of the time, if that is within the pauses

// The levels of roles need a replay of all events. The pauses bound it to 2 % of a core, if kMostRolePause
// allows.
constexpr auto kLeastRolePause = std::chrono::seconds(5);
constexpr auto kMostRolePause = std::chrono::seconds(60); // after it, the next replay would only be longer
constexpr int kRoleShare = 50;

class FollowedTraces {
 public:
  explicit FollowedTraces(bool roles) : roles_(roles) {}
  bool has_roles() const { return roles_; }

  std::vector<TraceView> read(std::vector<report::TraceName> names) {
    std::map<std::string, TraceAndGrowth> kept;
    std::set<int> seen;
    std::vector<TraceView> views;
    const bool replays = roles_ && Clock::now() >= roles_due_;
    Clock::duration cost{};
    // The newest first: a process that called exec has several traces.
    std::reverse(names.begin(), names.end());
    for (report::TraceName& name : names) {
      if (!seen.insert(name.pid).second || !watch::process_size(name.pid)) continue;
      const std::string path = name.path;
      const auto known = followed_.find(path);
      TraceAndGrowth& followed = kept[path];
      if (known != followed_.end()) followed = std::move(known->second);
      if (followed.trace == nullptr) followed.trace = std::make_unique<watch::FollowedMarks>(std::move(name));
      followed.trace->update();
      if (replays) cost += replay(followed);
      views.push_back(view_of(followed));
    }
    if (replays)
      roles_due_ =
          Clock::now() + std::clamp<Clock::duration>(kRoleShare * cost, kLeastRolePause, kMostRolePause);
    followed_ = std::move(kept);
    return views;
  }

 private:
  struct TraceAndGrowth {
    std::unique_ptr<watch::FollowedMarks> trace;
    watch::StepGrowth growth;
    std::unique_ptr<live::LiveProcess> levels; // null: roles are not wanted
  };

  static Clock::duration replay(TraceAndGrowth& followed) {
    const auto began = Clock::now();
    if (followed.levels == nullptr)
      followed.levels =
          std::make_unique<live::LiveProcess>(followed.trace->name().path, live::LiveDetail::levels);
    followed.levels->refresh();
    return Clock::now() - began;
  }

  static TraceView view_of(TraceAndGrowth& followed) {
    const watch::FollowedMarks& trace = *followed.trace;
    TraceView view;
    view.pid = trace.name().pid;
    view.directory = std::filesystem::path(trace.name().path).parent_path().string();
    if (const std::string shared = report::shared_directory_of(view.directory); !shared.empty())
      view.directory = shared; // a report of it reads the local files
    view.phase = trace.phase();
    view.step = trace.step();
    view.rank = trace.rank();
    view.devices = trace.devices();
    view.header = trace.header();
    if (view.header && view.step != replay::Step::none)
      followed.growth.add(static_cast<std::int64_t>(view.step), view.header->live[0]);
    view.growth = followed.growth.bytes_per_step();
    if (followed.levels == nullptr) return view;
    for (const live::MemoryNow& memory : followed.levels->now().memories)
      for (const live::RoleNow& role : memory.roles)
        if (role.bytes > 0) view.roles[{memory.name, role.name}] = static_cast<std::uint64_t>(role.bytes);
    return view;
  }

  std::map<std::string, TraceAndGrowth> followed_; // by path
  const bool roles_;
  Clock::time_point roles_due_{};
};

// Reads the traces. If that takes more than the budget of this thread, begins again without roles: the phases
// and steps of a process take some hundred KiB.
std::vector<TraceView> views_of(std::unique_ptr<FollowedTraces>& followed,
                                const std::function<std::vector<report::TraceName>()>& traces) {
  try {
    return followed->read(traces());
  } catch (const std::bad_alloc&) {
    if (!followed->has_roles()) throw;
  }
  std::fprintf(stderr,
               "memtrace: run: --metrics-roles: the replay of the traces needs too much memory, so roles "
               "are no longer written; leave --metrics-roles out\n");
  followed = nullptr;
  followed = std::make_unique<FollowedTraces>(false);
  return followed->read(traces());
}

} // namespace

struct TraceWatch::Shared {
  mutable std::mutex mutex; // guards what follows
  std::condition_variable wanted_or_read;
  std::vector<TraceView> views;
  std::uint64_t readings = 0;
  bool wanted = false;
  bool over = false; // the thread has ended
  files::Budget::ThreadCount count;
};

TraceWatch::TraceWatch(std::function<std::vector<report::TraceName>()> traces, bool roles)
    : shared_(std::make_shared<Shared>()) {
  shared_->count = files::Budget::of_command().second();
  try {
    std::thread([shared = shared_, list = std::move(traces), roles] { follow(shared, list, roles); }).detach();
  } catch (const std::system_error&) {
    shared_->over = true; // no phases and steps
  }
}

void TraceWatch::follow(const std::shared_ptr<Shared>& shared,
                        const std::function<std::vector<report::TraceName>()>& traces, bool roles) {
  files::Budget::count_in(shared->count);
  try {
    auto followed = std::make_unique<FollowedTraces>(roles);
    for (;;) {
      const auto began = Clock::now();
      std::vector<TraceView> views = views_of(followed, traces);
      const auto pause =
          std::clamp<Clock::duration>(kPauseShare * (Clock::now() - began), kLeastPause, kMostPause);
      std::unique_lock lock(shared->mutex);
      shared->views = std::move(views);
      ++shared->readings;
      shared->wanted_or_read.notify_all();
      shared->wanted_or_read.wait_for(lock, pause, [&] { return shared->wanted; });
      shared->wanted = false;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "memtrace: run: traces are not followed any more: %s\n",
                 report::printable(error.what()).c_str());
  }
  const std::lock_guard lock(shared->mutex);
  shared->over = true;
}

std::vector<TraceView> TraceWatch::views() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->views;
}

std::vector<TraceView> TraceWatch::views_within(int ms) {
  std::unique_lock lock(shared_->mutex);
  // A reading that is under way may have begun before what the caller wants to see.
  const std::uint64_t before = shared_->readings;
  shared_->wanted = true;
  shared_->wanted_or_read.notify_all();
  shared_->wanted_or_read.wait_for(lock, std::chrono::milliseconds(ms),
                                   [&] { return shared_->readings > before || shared_->over; });
  return shared_->views;
}

} // namespace memtrace::cli
