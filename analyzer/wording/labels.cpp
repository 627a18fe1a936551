// Purpose: names processes, signals and phases in text reports.
#include "analyzer/wording/labels.h"

#include "analyzer/wording/units.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "analyzer/trace/coordinates.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {

std::string signal_name(std::uint32_t number) {
  const char* const name = ::sigabbrev_np(static_cast<int>(number));
  return name != nullptr ? std::string("SIG") + name : std::to_string(number);
}

std::string parameters_not_allocated(const trace::Facts& facts) {
  if (facts.before) return "No row has the parameters, because they were made before recording began.";
  return kParametersNotAllocated;
}

const char* uncovered_row(const trace::Facts& facts, bool of_device) {
  if (facts.before) return of_device ? "before recording" : "before recording, and small blocks";
  return facts.fork ? "inherited, small" : "small blocks";
}

std::string when(const std::string& phase, replay::Step step) {
  return step == replay::Step::none ? phase : fmt::format("{} {}", phase, static_cast<std::int64_t>(step));
}

std::string step_range(replay::Step first, replay::Step last) {
  return "steps " + count(static_cast<std::uint64_t>(first)) + " to " + count(static_cast<std::uint64_t>(last));
}

namespace {

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Returns the name by which the program was started, if its file has another name. `redis-server` is a link to
// `redis-check-rdb`, and `ls` may be one to `busybox`. `python` for `python3.11` says less than the file's
// name.
std::string program_name(const trace::Facts& facts) {
  const std::string file = file_name(facts.exe);
  std::string called = file_name(facts.argv.substr(0, facts.argv.find('\0')));
  if (called.starts_with('-')) called.erase(0, 1); // a login shell
  return called.empty() || file.starts_with(called) ? file : called;
}

} // namespace

std::string script(const trace::Facts& facts) {
  std::string shown = program_name(facts);
  std::size_t at = 0;
  // The first argument that is a Python file is more informative than the interpreter.
  while (at < facts.argv.size()) {
    const std::size_t end = std::min(facts.argv.find('\0', at), facts.argv.size());
    const std::string argument = facts.argv.substr(at, end - at);
    if (argument.size() > 3 && argument.compare(argument.size() - 3, 3, ".py") == 0) {
      shown = argument;
      break;
    }
    at = end + 1;
  }
  return shortened(printable(shown.substr(shown.rfind('/') + 1)), 40);
}

std::string script_and_pid(const trace::Facts& facts) {
  return facts.pid == 0 ? script(facts) : fmt::format("{} pid {}", script(facts), facts.pid);
}

std::string place_in(const trace::Facts& facts) {
  const std::string place = trace::text_of(trace::coordinates_of(facts));
  return place.empty() ? "" : " (" + printable(place) + ")";
}

std::string pid_or_script(const trace::Facts& facts) {
  return facts.pid == 0 ? script(facts) : fmt::format("pid {}", facts.pid);
}

std::string words_of(const std::string& name) {
  if (name == "mmap_anon") return "mapping";
  if (name == "mmap_file") return "file mapping";
  if (name == "shm") return "shared memory";
  std::string out = name;
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

std::string phase_words(const std::string& name) {
  return name == "step" ? "update" : name;
}

std::string pad(const std::string& text, std::size_t width) {
  const std::size_t have = columns(text);
  return have < width ? text + std::string(width - have, ' ') : text;
}

} // namespace memtrace::report
