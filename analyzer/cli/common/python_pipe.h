// Purpose: a module of the Python package memtrace that reads what this command writes.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace memtrace::cli {

// Starts `words`, the command line of a Python, not recorded, with the package of this installation on its
// path. Its stdin is a pipe.
class PythonPipe {
 public:
  // Throws UsageError, which ends with `way_out`, if there is no such Python.
  PythonPipe(std::vector<std::string> words, const std::string& way_out);
  ~PythonPipe(); // closes the pipe and waits
  PythonPipe(const PythonPipe&) = delete;
  PythonPipe& operator=(const PythonPipe&) = delete;

  // Returns false if the program has ended before it read all.
  bool write(std::string_view part);
  // Waits until the program prints a line or closes its output. True if it printed one.
  bool is_ready();
  // Closes the pipe and waits. Returns the exit status, or 2 if a signal ended it.
  int finish();

 private:
  pid_t pid_ = -1;
  int in_ = -1;  // its stdin
  int out_ = -1; // its stdout
};

} // namespace memtrace::cli
