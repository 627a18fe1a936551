// Purpose: the man pages, in the man macros of troff.
#pragma once

#include <string>

#include "analyzer/cli/reference/command_texts.h"

namespace memtrace::cli {

// Returns memtrace.1.
std::string program_page(const ProgramText& texts);

// Returns the page of one command, as memtrace-report.1.
std::string command_page(const ProgramText& texts, const CommandText& command);

} // namespace memtrace::cli
