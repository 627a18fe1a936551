// Purpose: the options of `memtrace tree`.
#include <charconv>
#include <memory>

#include "analyzer/cli/options/shared_options.h"
#include "analyzer/cli/options/subcommands.h"

namespace memtrace::cli {
namespace {

constexpr std::size_t kDeepest = 1000;

// Takes "2%", "64K", "1.5M", "1G" and bytes. Returns nullopt if it is none of these.
std::optional<LeastSize> least_of(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || !(value >= 0 && value <= 1e15)) return std::nullopt;
  const std::string_view suffix(at, static_cast<std::size_t>(end - at));
  if (suffix == "%") return value <= 100 ? std::optional(LeastSize{.percent = value}) : std::nullopt;
  double unit = 1;
  for (const char letter : {'\0', 'K', 'M', 'G'}) {
    if (letter == '\0' ? suffix.empty() : suffix == std::string_view(&letter, 1))
      return LeastSize{.percent = 0, .bytes = static_cast<std::int64_t>(value * unit)};
    unit *= 1024;
  }
  return std::nullopt;
}

std::string check_least(const std::string& text) {
  return least_of(text) ? "" : text + " is not a size or a percentage, as in 64K, 10M or 2%";
}

} // namespace

void add_tree(CLI::App& app, const std::function<void(const TreeArguments&)>& parsed) {
  const auto arguments = std::make_shared<TreeArguments>();
  CLI::App* const command =
      app.add_subcommand("tree", "which calls held memory at the peak, as a tree for the terminal");
  add_trace(*command, arguments->trace);
  command
      ->add_option("--finding", arguments->finding,
                   "show the blocks of this finding alone, as in --finding foreach-temporaries")
      ->type_name("ID");
  add_memory(*command, arguments->memory);
  command->add_option("--depth", arguments->depth, "show branches to this depth (all)")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, kDeepest).description(""));
  command
      ->add_option_function<std::string>(
          "--min-size", [arguments](const std::string& text) { arguments->least = *least_of(text); },
          "calls with less share a line: a size, or a percentage of the whole (1%)")
      ->type_name("SIZE|PERCENT")
      ->check(check_least);
  command->add_flag("--bottom-up", arguments->bottom_up,
                    "begin with the allocations, and show their callers below");
  command->add_flag("--all-frames", arguments->all_frames,
                    "show also allocators, the interpreter, PyTorch's dispatcher and what imports call");
  add_output(*command, arguments->format, arguments->output);
  add_reading(*command);
  command->callback([arguments, parsed] { parsed(*arguments); });
}

} // namespace memtrace::cli
