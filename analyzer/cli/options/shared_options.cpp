// Purpose: the options that several commands have, and the checks of values by CLI11.
#include "analyzer/cli/options/shared_options.h"

#include <algorithm>
#include <charconv>

#include "analyzer/decode/quick_reading.h"
#include "analyzer/explain/process_analysis.h"
#include "analyzer/files/processors.h"
#include "analyzer/files/read_budget.h"
#include "analyzer/symbols/debug_lines.h"

namespace memtrace::cli {
namespace {

template <class Number>
std::optional<Number> number(const std::string& text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<replay::StepRange> steps_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto from = number<std::uint64_t>(text.substr(0, colon));
  const auto to = colon == std::string::npos ? from : number<std::uint64_t>(text.substr(colon + 1));
  if (!from || !to) return std::nullopt;
  return replay::StepRange{*from, *to};
}

// True for digits with a comma before each three of them, "80,000,000,000", as the texts print numbers.
bool has_groups(const std::string& text) {
  if (text.empty() || text.front() == ',') return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((text[text.size() - 1 - i] == ',') != (i % 4 == 3)) return false;
  return true;
}

// Takes "8e10" and "80,000,000,000".
std::optional<std::uint64_t> count_of(std::string text) {
  if (has_groups(text)) text.erase(std::remove(text.begin(), text.end(), ','), text.end());
  const auto value = number<double>(text);
  if (!value || !(*value >= 1 && *value <= 1e18)) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

// The text that a validator returns refuses the value; "" accepts it.

std::string check_steps(const std::string& text) {
  return steps_of(text) ? "" : text + " is not A:B, two step numbers, as in 0:9";
}

std::string check_order(const std::string& text) {
  const auto steps = steps_of(text);
  return steps && steps->from > steps->to ? text + ": the first step is behind the last" : "";
}

std::string check_count(const std::string& text) {
  return count_of(text) ? "" : text + " is not a number of parameters, as in 7e9";
}

std::string check_memory(const std::string& text) {
  return report::memory_named(text) ? "" : text + " is not host or cuda:N";
}

} // namespace

std::string check_number(const std::string& text) {
  return number<std::uint32_t>(text) ? "" : text + " is not a number";
}

void add_trace(CLI::App& command, std::string& trace) {
  command
      .add_option("TRACE", trace,
                  "a trace, a directory of traces, a packed file or a memory snapshot of PyTorch; default: the "
                  "newest job under memtrace-out")
      ->type_name("");
}

void add_format(CLI::App& command, std::string& format, const std::vector<std::string>& forms) {
  const std::string expected = CLI::detail::join(forms, " or ");
  const bool has_html = std::find(forms.begin(), forms.end(), "html") != forms.end();
  command.add_option("--format", format, "form of the output (" + forms.front() + ")")
      ->type_name(CLI::detail::join(forms, "|"))
      ->check([expected, has_html](const std::string& text) {
        return text == "html" && !has_html ? "only report and diff write html; use " + expected : "";
      })
      ->check(CLI::IsMember(forms).description(""));
}

void add_output(CLI::App& command, std::string& format, std::string& output,
                const std::vector<std::string>& forms) {
  add_format(command, format, forms);
  command.add_option("-o", output, "write to this file, and replace it if it exists (stdout)")
      ->type_name("FILE");
}

void add_memory(CLI::App& command, std::string& memory) {
  command
      .add_option("--memory", memory,
                  "host or cuda:N; default: the memory of the first finding, else the one with the most bytes "
                  "of tensors")
      ->type_name("MEMORY")
      ->check(check_memory);
}

CLI::Option* add_top(CLI::App& command, std::size_t& top, const std::string& help) {
  return command.add_option("--top", top, help)
      ->type_name("N")
      ->check(CLI::Range(std::size_t{0}, std::size_t{1} << 20).description(""));
}

void add_quick(CLI::App& command) {
  command.add_flag_callback(
      "--quick", [] { trace::set_extent_of_command(trace::ReadExtent::quick); },
      "of a large trace, read only the beginning, the end and the stretches with the peaks; rows stand for the "
      "other steps");
}

void add_jobs(CLI::App& command) {
  command
      .add_option_function<std::size_t>("--jobs", files::limit_jobs,
                                        "number of traces to read at the same time (the number of processors, "
                                        "at most 8); each takes some 50 MiB, "
                                        "and the output does not depend on it")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1024}).description(""));
}

void add_reading(CLI::App& command) {
  // The size of the traces bounds the memory and work of reading. --unbounded lifts both limits for the whole
  // command.
  command.add_flag_callback(
      "--unbounded", [] { files::Budget::of_command().lift(); },
      "lift the bounds of the command's work and memory (1 GiB plus 4 times the size of the files)");
  command.add_flag_callback(
      "--debuginfod", symbols::allow_debuginfod,
      "ask the servers in DEBUGINFOD_URLS for source lines of native code (off: no network)");
}

void add_steps(CLI::App& command, std::optional<replay::StepRange>& steps, bool ordered,
               const std::string& help) {
  CLI::Option* const option =
      command
          .add_option_function<std::string>(
              "--steps", [&steps](const std::string& text) { steps = steps_of(text); }, help)
          ->type_name("A:B")
          ->check(check_steps);
  if (ordered) option->check(check_order);
}

void add_count(CLI::App& command, const std::string& name, std::optional<std::uint64_t>& count,
               const std::string& help) {
  command
      .add_option_function<std::string>(
          name, [&count](const std::string& text) { count = count_of(text); }, help)
      ->type_name("COUNT")
      ->check(check_count);
}

} // namespace memtrace::cli
