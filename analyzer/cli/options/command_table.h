// Purpose: the commands of memtrace with their options, for the parser, the man pages and the completion.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/cli/options/command.h"

namespace CLI {
class App;
}

namespace memtrace::cli {

// Returns the table, in the order of the help. `traced`: the words after "--". `parsed` gets the command that
// the user gives.
std::unique_ptr<CLI::App> command_table(const std::vector<std::string>& traced,
                                        const std::function<void(const Command&)>& parsed);

// True if the words after "--" are a program that `command` starts.
bool starts_a_program(const std::string& command);

} // namespace memtrace::cli
