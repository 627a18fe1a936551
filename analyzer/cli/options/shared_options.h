// Purpose: the options that several commands have, and the checks of values by CLI11.
#pragma once

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/attribute/step_selection.h"

namespace memtrace::cli {

void add_trace(CLI::App& command, std::string& trace);
// --format, with the forms that the command can write. The first one is the default.
void add_format(CLI::App& command, std::string& format, const std::vector<std::string>& forms);
// --format, and -o.
void add_output(CLI::App& command, std::string& format, std::string& output,
                const std::vector<std::string>& forms = {"text", "json"});
void add_memory(CLI::App& command, std::string& memory);
CLI::Option* add_top(CLI::App& command, std::size_t& top, const std::string& help);
// Adds --quick.
void add_quick(CLI::App& command);
// Adds --jobs.
void add_jobs(CLI::App& command);
// --unbounded and --debuginfod, of the commands that read traces.
void add_reading(CLI::App& command);

// A check for CLI::Option::check(). Returns "" if `text` is a number that a std::uint32_t holds, else why it is
// refused.
std::string check_number(const std::string& text);

// "A:B": two step numbers. "A" stands for A:A. `ordered`: A is at most B.
void add_steps(CLI::App& command, std::optional<replay::StepRange>& steps, bool ordered,
               const std::string& help);
// A number of parameters: "6921720704", "7e9" or "1.5e9".
void add_count(CLI::App& command, const std::string& name, std::optional<std::uint64_t>& count,
               const std::string& help);

} // namespace memtrace::cli
