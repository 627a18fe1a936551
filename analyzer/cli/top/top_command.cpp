// Purpose: `memtrace top`.
#include "analyzer/cli/top/top_command.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "analyzer/cli/common/output.h"
#include "analyzer/cli/top/terminal.h"
#include "analyzer/cli/top/top_screen.h"
#include "analyzer/cli/top/top_target.h"
#include "analyzer/files/warning.h"
#include "analyzer/job/usage_error.h"
#include "analyzer/live/live_job.h"

namespace memtrace::cli {
namespace {

double monotonic() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

std::size_t number_in(const char* name, std::size_t otherwise) {
  const char* const text = std::getenv(name);
  std::size_t out = 0;
  if (text == nullptr || std::from_chars(text, text + std::strlen(text), out).ec != std::errc())
    return otherwise;
  return std::clamp<std::size_t>(out, 1, 1000);
}

// The size of one screen that is printed: of the terminal, else of COLUMNS and LINES, else 80 x 24.
void fit(TopView& view) {
  struct winsize size {};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 && size.ws_row != 0;
  view.columns = known ? size.ws_col : number_in("COLUMNS", 80);
  view.rows = known ? size.ws_row : number_in("LINES", 24);
}

int print_once(const TopTarget& target, double interval) {
  live::LiveJob job(target.files, false);
  job.refresh(0, interval);
  const auto& processes = job.processes();
  if (!processes.empty() && !processes.front().error.empty()) // none can be read
    throw report::UsageError(processes.front().error);
  TopView view;
  view.utf8 = use_locale();
  fit(view);
  write_all({plain_text(top_screen(processes, job.other_jobs(), view))}, "");
  return 0;
}

class Session {
 public:
  Session(const TopTarget& target, double interval, Terminal& terminal, bool utf8)
      : job_(target.files, target.grows), terminal_(terminal) {
    view_.interval = interval;
    view_.utf8 = utf8;
    view_.keys = true;
  }

  // Returns the signal that ended it, or 0.
  int run() {
    terminal_.draw({{{"reading the trace", Style::plain}}});
    double due = 0;
    for (;;) {
      if (monotonic() >= due && !view_.paused) {
        refresh();
        due = monotonic() + view_.interval;
      }
      draw();
      const double pause = view_.paused ? 3600 : std::max(0.0, due - monotonic());
      switch (const Key key = terminal_.wait(pause)) {
        case Key::stopped:
          return terminal_.signal();
        case Key::quit:
          return 0;
        case Key::refresh:
          due = 0;
          break;
        default:
          take(key);
      }
    }
  }

 private:
  void refresh() {
    const auto& processes = job_.processes();
    std::size_t index = 0;
    for (std::size_t i = 0; i < processes.size(); ++i)
      if (processes[i].path == chosen_) index = i;
    job_.refresh(index, view_.interval);
  }

  // A process stays chosen when the order changes.
  void draw() {
    const auto& processes = job_.processes();
    const std::vector<std::size_t> order = sorted(processes, view_.sort);
    view_.chosen = 0;
    for (std::size_t i = 0; i < order.size(); ++i)
      if (processes[order[i]].path == chosen_) view_.chosen = i;
    if (!order.empty()) chosen_ = processes[order[view_.chosen]].path;
    view_.columns = terminal_.columns();
    view_.rows = terminal_.rows();
    terminal_.draw(top_screen(processes, job_.other_jobs(), view_));
  }

  void take(Key key) {
    if (view_.help && key != Key::none && key != Key::resize) {
      view_.help = false;
      return;
    }
    switch (key) {
      case Key::up:
        move(-1);
        break;
      case Key::down:
        move(1);
        break;
      case Key::sort:
        view_.sort = static_cast<SortBy>((static_cast<int>(view_.sort) + 1) % 4);
        break;
      case Key::memory:
        next_memory();
        break;
      case Key::pause:
        view_.paused = !view_.paused;
        break;
      case Key::help:
        view_.help = true;
        break;
      default:
        break;
    }
  }

  void move(int by) {
    const auto& processes = job_.processes();
    const std::vector<std::size_t> order = sorted(processes, view_.sort);
    if (order.empty()) return;
    const auto last = static_cast<long>(order.size()) - 1;
    const long at = std::clamp(static_cast<long>(view_.chosen) + by, 0L, last);
    chosen_ = processes[order[static_cast<std::size_t>(at)]].path;
  }

  void next_memory() {
    for (const live::ProcessNow& process : job_.processes()) {
      if (process.path != chosen_ || process.memories.empty()) continue;
      std::size_t at = live::leading_memory(process);
      for (std::size_t i = 0; i < process.memories.size(); ++i)
        if (view_.memory && process.memories[i].name == *view_.memory) at = i;
      view_.memory = process.memories[(at + 1) % process.memories.size()].name;
    }
  }

  live::LiveJob job_;
  Terminal& terminal_;
  TopView view_;
  std::string chosen_; // the path of its trace; "": the first
};

} // namespace

int top_command(const TopArguments& arguments) {
  if (!arguments.once && (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0))
    throw report::UsageError("top: stdin or stdout is not a terminal; --once prints one screen");
  const TopTarget target = top_target(arguments.target);
  if (arguments.once) return print_once(target, arguments.interval);
  const bool utf8 = use_locale();
  std::string why;
  int signal = 0;
  {
    const auto terminal = Terminal::open(why);
    if (!terminal) throw report::UsageError("top: " + why + "; --once prints one screen");
    files::set_warning_writer([](const std::string&) {}); // it would be written over the screen
    signal = Session(target, arguments.interval, *terminal, utf8).run();
  }
  if (signal == 0) return 0;
  ::signal(signal, SIG_DFL); // the status of the command tells the signal
  ::raise(signal);
  return 128 + signal;
}

} // namespace memtrace::cli
