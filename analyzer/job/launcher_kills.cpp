// Purpose: tells the processes that a launcher ended because another one had failed from the one that failed.
#include "analyzer/job/launcher_kills.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>

#include "analyzer/job/process_order.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

// s: torchrun looks at its processes at least every 5 s, then sends SIGTERM and waits for 30 s
constexpr double kLongest = 40;
// s: `memtrace run` looks ten times a second, and sees the ends between two looks in any order
constexpr double kSeenTogether = 0.2;

bool ended_by(const Process& process, std::uint32_t signal) {
  return process.end.how == "signal" && process.end.code == signal;
}

// True if the end of this process makes its launcher end the others.
bool is_failure(const Process& process) {
  const Gravity weight = gravity(process);
  return weight != Gravity::other && weight != Gravity::followed && !ended_by(process, SIGTERM);
}

bool beside(const Process& a, const Process& b) {
  return a.job == b.job && a.facts.host == b.facts.host && a.facts.ppid == b.facts.ppid && &a != &b;
}

// Returns the first process of the same launcher that failed within kLongest before this one ended, or nullptr.
const Process* failed_before(const std::vector<Process>& processes, const Process& killed) {
  const Process* first = nullptr;
  for (const Process& process : processes) {
    if (!beside(process, killed) || !is_failure(process)) continue;
    const double before = ended_after(killed, process);
    if (before < -kSeenTogether || before > kLongest) continue;
    if (first == nullptr || ended_after(process, *first) < 0) first = &process;
  }
  return first;
}

} // namespace

void find_launcher_kills(std::vector<Process>& processes) {
  for (Process& process : processes) {
    if (process.facts.launcher != "torchrun" || !ended_by(process, SIGTERM)) continue;
    const Process* const failed = failed_before(processes, process);
    if (failed == nullptr) continue;
    process.end.how = "killed_by_manager";
    process.end.manager = process.facts.launcher;
    process.end.after = short_name(*failed);
    process.end.certain = false;
    process.end.evidence.push_back(fmt::format(
        "{}: sends SIGTERM to the other processes when one fails; {} before, {}: {}", process.facts.launcher,
        duration(std::max(0.0, ended_after(process, *failed))), process.end.after, ended(failed->end)));
  }
}

} // namespace memtrace::report
