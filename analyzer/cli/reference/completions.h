// Purpose: scripts that complete memtrace's command line in shells.
#pragma once

#include <string>

#include "analyzer/cli/reference/command_texts.h"

namespace memtrace::cli {

std::string bash_completion(const ProgramText& texts);
std::string zsh_completion(const ProgramText& texts);
std::string fish_completion(const ProgramText& texts);

// Returns the items with a separator between each two.
std::string joined(const std::vector<std::string>& items, const std::string& separator);

} // namespace memtrace::cli
