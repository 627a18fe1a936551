// Room: report.
// Job: how a traced process ended, or that it has not.
#include "report/ending.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

namespace memtrace::report {
namespace {

// Unix time in seconds at which this pid's present process began; below 0 when there is none.
double began(std::uint32_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(stat, line)) return -1;
  const std::size_t name_end = line.rfind(')'); // a name may hold anything
  if (name_end == std::string::npos) return -1;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  char state = 0;
  fields >> state;
  if (state == 'Z' || state == 'X') return -1;
  for (int i = 4; i < 22; ++i) fields >> field;
  double ticks = 0;
  fields >> ticks;
  std::ifstream uptime("/proc/stat");
  double boot = -1;
  while (std::getline(uptime, line)) {
    if (line.rfind("btime ", 0) == 0) boot = std::stod(line.substr(6));
  }
  return boot < 0 ? -1 : boot + ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

bool running(const trace::Facts& facts) {
  char host[256] = {};
  if (!facts.has_process || ::gethostname(host, sizeof host - 1) != 0 || facts.host != host) return false;
  const double start = began(facts.pid);
  // btime has whole seconds, and the trace begins after the process did.
  return start >= 0 && start <= static_cast<double>(facts.start_unix_ns) / 1e9 + 1.5;
}

} // namespace

Ending ending(const trace::Trace& trace) {
  const trace::Facts& facts = trace.facts();
  if (facts.end) {
    switch (facts.end->how) {
      case format::EndHow::exit:
        return {"exit", facts.end->code};
      case format::EndHow::signal:
        return {"signal", facts.end->code};
      case format::EndHow::exec:
        return {"exec", 0};
      default:
        return {"unknown", facts.end->code};
    }
  }
  if (facts.last_was_exec) return {"exec", 0};
  if (running(facts)) return {"running", 0};
  return {"unknown", 0};
}

} // namespace memtrace::report
