// Purpose: the options of `memtrace diff`.
#include <memory>

#include "analyzer/cli/options/shared_options.h"
#include "analyzer/cli/options/subcommands.h"

namespace memtrace::cli {
namespace {

// Returns both phases of "P:Q", or the one phase.
std::vector<std::string> phases_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return {text};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// Throws if the arguments do not name two sides that differ.
void check_sides(const DiffArguments& arguments) {
  const auto refuse = [](const char* text) { throw CLI::ValidationError("diff", text); };
  const bool one_phase = arguments.phases.empty() || arguments.phases.front() == arguments.phases.back();
  const bool one_step = !arguments.steps || arguments.steps->from == arguments.steps->to;
  const bool places = arguments.steps || !arguments.phases.empty();
  if (!arguments.ranks.empty()) {
    if (arguments.ranks.size() != 2 || arguments.ranks.front() == arguments.ranks.back())
      refuse("--rank names two ranks of one job, as in: --rank 3 --rank 7");
    if (places || arguments.first_vs_steady || arguments.traces.size() > 1)
      refuse("--rank compares two ranks of one job at their peaks; leave the other side out");
    return;
  }
  if (arguments.traces.size() == 2) {
    if (places || arguments.first_vs_steady)
      refuse("A B compares two runs at their peaks; --steps, --phases and --first-vs-steady are of one run");
  } else if (arguments.format == "html") {
    refuse(
        "html compares two runs, A B; of one run, report --format html has the comparison with a typical step");
  } else if (arguments.first_vs_steady) {
    if (arguments.steps) refuse("--first-vs-steady and --steps are two questions; ask one");
  } else if (!places) {
    refuse(
        "expected two runs, A B, or one with --rank N --rank M, --first-vs-steady, --steps A:B or --phases "
        "P:Q");
  } else if (one_phase && one_step) {
    refuse(arguments.phases.empty()
               ? "both sides are the same; name two steps, as in --steps 0:5"
               : "both sides are the same; name two steps (--steps A:B) or two phases (--phases P:Q)");
  }
}

} // namespace

void add_diff(CLI::App& app, const std::function<void(const DiffArguments&)>& parsed) {
  const auto arguments = std::make_shared<DiffArguments>();
  CLI::App* const command = app.add_subcommand(
      "diff", "what differs between two runs, two ranks of a job, or two steps or phases of one run");
  command
      ->add_option("TRACES", arguments->traces,
                   "A B: two runs, compared at their peaks; or one run (default: the newest job) with one of "
                   "the next three options")
      ->type_name("")
      ->expected(0, 2);
  command
      ->add_option("--rank", arguments->ranks,
                   "compare two ranks of one job at their peaks: --rank 3 --rank 7 DIR")
      ->type_name("N")
      ->allow_extra_args(false) // each --rank takes one
      ->check(check_number);
  command->add_flag(
      "--first-vs-steady", arguments->first_vs_steady,
      "compare the first update with a typical step: what it added for good, and what only it needed");
  add_steps(*command, arguments->steps, false,
            "compare step A with step B of one run; the first is 0. With --phases, one step may do");
  command
      ->add_option_function<std::string>(
          "--phases", [arguments](const std::string& text) { arguments->phases = phases_of(text); },
          "compare phase P with phase Q of one run, as in forward:step; with --steps, one phase may do")
      ->type_name("P:Q");
  add_memory(*command, arguments->memory);
  add_top(*command, arguments->top, "number of rows (20)");
  add_output(*command, arguments->format, arguments->output, {"text", "json", "html"});
  add_reading(*command);
  command->callback([arguments, parsed] {
    check_sides(*arguments);
    parsed(*arguments);
  });
}

} // namespace memtrace::cli
