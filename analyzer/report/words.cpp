// Room: report.
// Job: what text reports call a process, its end, a place in its course.
#include "analyzer/report/words.h"

#include <fmt/format.h>

#include <csignal>
#include <cstring>

#include "analyzer/report/utf8.h"

namespace memtrace::report {

std::string signal_name(std::uint32_t number) {
  const char* const name = ::sigabbrev_np(static_cast<int>(number));
  return name != nullptr ? std::string("SIG") + name : std::to_string(number);
}

std::string phase_name(const View& view, fold::PathId path) {
  constexpr std::size_t kMost = 1024; // bytes: ten lines
  std::string out;
  for (const std::string& name : view.account.paths.texts(path))
    out += (out.empty() ? "" : "/") + printable(name);
  if (out.size() <= kMost) return out;
  return shortened(out, kMost);
}

std::string when(const std::string& phase, fold::Step step) {
  return step == fold::Step::none ? phase : fmt::format("{} {}", phase, static_cast<std::int64_t>(step));
}

std::string script(const trace::Facts& facts) {
  std::string shown = facts.exe;
  std::size_t at = 0;
  // The first argument that is a Python file says more than the interpreter does.
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

std::string ended(const Ending& end) {
  if (end.how == "exit") return fmt::format("exited with {}", end.code);
  if (end.how == "oom_kill") return "killed for memory";
  if (end.how == "signal") return fmt::format("ended by signal {} ({})", end.code, signal_name(end.code));
  if (end.how == "exec") return "became another program (exec)";
  if (end.how == "running") return "still running";
  if (end.code == SIGKILL) return "killed, cause unknown";
  return "no record of its end (killed?)";
}

std::string pad(const std::string& text, std::size_t width) {
  const std::size_t have = columns(text);
  return have < width ? text + std::string(width - have, ' ') : text;
}

} // namespace memtrace::report
