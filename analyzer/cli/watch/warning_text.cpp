// Purpose: words of a warning that a limit is near, and the variables that a command gets.
#include "analyzer/cli/watch/warning_text.h"

#include <fmt/core.h>

#include <cstdint>

#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::cli {
namespace {

std::string where(const NearLimit& near) {
  const std::string phase = report::printable(report::phase_words(near.phase));
  const auto step = static_cast<std::int64_t>(near.step);
  if (near.step == replay::Step::none) return phase.empty() ? "" : ", in " + phase;
  return phase.empty() ? fmt::format(", in step {}", step) : fmt::format(", in {} of step {}", phase, step);
}

} // namespace

std::string warning_text(const NearLimit& near) {
  const watch::LimitUse& use = near.use;
  std::string out =
      fmt::format("{} of {} {} used ({:.1f} %), {} left", report::sized(use.used), report::sized(use.limit),
                  limit_words(use), 100.0 * static_cast<double>(use.used) / static_cast<double>(use.limit),
                  report::sized(use.left()));
  if (near.grown) {
    out += fmt::format("; {} (pid {}) grew by {} in {}{}", near.program, near.grown->pid,
                       report::sized(near.grown->bytes), report::duration(near.grown->seconds), where(near));
  } else if (near.pid != 0) {
    out += fmt::format("; {} (pid {}){}", near.program, near.pid, where(near));
  }
  return out;
}

NearLimitCommand::Variables warning_variables(const NearLimit& near) {
  const auto number = [](auto value) { return fmt::format("{}", value); };
  return {
      {"MEMTRACE_JOB_DIR", near.directory},
      {"MEMTRACE_COMMAND_PID", number(near.command)},
      {"MEMTRACE_NEAR_PID", number(near.pid)},
      {"MEMTRACE_NEAR_KIND", kind_label(near.use.kind)},
      {"MEMTRACE_NEAR_NAME", near.use.name},
      {"MEMTRACE_NEAR_USED", number(near.use.used)},
      {"MEMTRACE_NEAR_LIMIT", number(near.use.limit)},
      {"MEMTRACE_NEAR_PHASE", near.phase},
      {"MEMTRACE_NEAR_STEP",
       near.step == replay::Step::none ? "" : number(static_cast<std::int64_t>(near.step))},
  };
}

} // namespace memtrace::cli
