// Purpose: the options of `memtrace report`.
#include <memory>
#include <string>
#include <vector>

#include "analyzer/cli/options/shared_options.h"
#include "analyzer/cli/options/subcommands.h"
#include "preload/format/setting_values.h"

namespace memtrace::cli {
namespace {

// bytes
constexpr std::uint64_t kLeastPage = 256 << 10;
constexpr std::uint64_t kMostPage = 20 << 20;

std::string check_page_size(const std::string& text) {
  std::uint64_t bytes = 0;
  const bool fits = format::parse_size(text.c_str(), &bytes) && bytes >= kLeastPage && bytes <= kMostPage;
  return fits ? "" : text + " is not a size from 256K to 20M";
}

} // namespace

void add_report(CLI::App& app, const std::function<void(const ReportArguments&)>& parsed) {
  const auto arguments = std::make_shared<ReportArguments>();
  CLI::App* const command =
      app.add_subcommand("report", "which lines held memory at the peak, in which phase, and why");
  add_trace(*command, arguments->trace);
  add_memory(*command, arguments->memory);
  add_steps(*command, arguments->options.steps.range, true,
            "show steps A to B one by one; the first is 0; default: step 0, the peak's and a typical one");
  command->add_flag("--all-steps", arguments->options.steps.all, "show each step");
  command->add_flag(
      "--all", arguments->all,
      "show all details: a row for each site, one for the small sites of a line, resident memory as a table, "
      "each process in full");
  command->add_flag("--compact", arguments->options.compact,
                    "JSON: give the stack of a row by its id alone; the object `sites` has the stacks");
  command
      ->add_option("--by", arguments->by,
                   "rows of the table of what is alive at the peak: by your line, by the module of the model "
                   "(equal layers share a row), or by role (line)")
      ->type_name("line|module|role")
      ->check(CLI::IsMember(std::vector<std::string>{"line", "module", "role"}).description(""));
  const CLI::Option* const top = add_top(*command, arguments->options.top,
                                         "number of rows of what is alive at a peak (text: 12; JSON: 20)");
  add_output(*command, arguments->format, arguments->output, {"text", "json", "html"});
  const auto page_size = std::make_shared<std::string>();
  command
      ->add_option(
          "--page-size", *page_size,
          "html: about the most bytes of the page, from 256K to 20M (5M); a larger page shows more of the "
          "run block by block")
      ->type_name("SIZE")
      ->check(check_page_size);
  add_quick(*command);
  add_jobs(*command);
  add_reading(*command);
  command->callback([arguments, top, page_size, parsed] {
    if (!arguments->memory.empty()) arguments->options.memory = arguments->memory;
    if (!page_size->empty()) format::parse_size(page_size->c_str(), &arguments->page_size);
    arguments->top_given = top->count() != 0;
    parsed(*arguments);
  });
}

} // namespace memtrace::cli
