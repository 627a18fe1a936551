// Purpose: the source line and the inlined functions at an address, from the debug information of one ELF file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace memtrace::symbols {

// One function at an address: a function that the compiler inlined there, or the function that owns the code.
struct SourceFrame {
  std::string function;   // mangled if the debug information has that name
  std::string file;       // as the compiler received it; empty if unknown
  std::uint32_t line = 0; // from 1; 0 if unknown
};

// Lets DebugLines query the servers of DEBUGINFOD_URLS for debug information that this machine lacks. Without
// this call, DebugLines clears that variable. Some distributions set it for all users, and a report must not
// wait for a network.
void allow_debuginfod();

// elfutils' libdw reads DWARF 2 to 5, compressed sections, split units (.dwo) and separate files of debug
// information (by build id below /usr/lib/debug, or by .gnu_debuglink).
class DebugLines {
 public:
  // `path`: an ELF file. For a file without debug information, `at` returns an empty vector.
  explicit DebugLines(const std::string& path);
  ~DebugLines();
  DebugLines(const DebugLines&) = delete;
  DebugLines& operator=(const DebugLines&) = delete;

  // Returns the functions at `address` (as in the file), from the innermost inlined function to the function
  // that owns the code. Empty if no line is known.
  std::vector<SourceFrame> at(std::uint64_t address);

 private:
  class Reader;
  std::unique_ptr<Reader> reader_; // null if there is no debug information
};

} // namespace memtrace::symbols
