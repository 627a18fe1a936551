// Purpose: runs another program and reads what it prints.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace memtrace::files {

struct ProgramOutput {
  std::string text;       // of stdout; stderr is dropped
  int status = -1;        // as waitpid() gives it; -1: the program could not be started
  bool timed_out = false; // then the program was killed
};

// Finds the program in PATH if its name has no slash. Waits for its end, at most `patience`.
ProgramOutput output_of(const std::vector<std::string>& command, std::chrono::milliseconds patience);

} // namespace memtrace::files
