// Purpose: tells the user's own Python files from installed packages and the standard library.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/trace/process_facts.h"

namespace memtrace::symbols {

// The folders of installed code, as the interpreter named them (notes `python-library` and `python-path`). A
// trace without `python-library` is of a forked child, of a killed process without hooks, or of an older
// recorder: then the usual names of such folders decide. A folder of PYTHONPATH is a library unless it contains
// the main script or is below the working directory.
class LibraryFolders {
 public:
  explicit LibraryFolders(const trace::Facts& facts);

  // True if `file`, a code object's co_filename, is not the user's own code.
  bool holds(std::string_view file) const;
  // Returns the path below its folder: "pandas/core/frame.py". Returns "" if no folder holds it.
  std::string_view below(std::string_view file) const;
  // Returns the absolute path of the program's first Python file among its arguments, or "".
  const std::string& main_script() const { return script_; }

 private:
  std::vector<std::string> folders_; // each ends with '/'; the longest first
  std::string script_;
  bool told_ = false;       // the interpreter named them
  bool by_command_ = false; // the program is an argument: python -c
};

} // namespace memtrace::symbols
