// Purpose: what identifies a Python frame.
// Runs: inside the program's malloc.
#pragma once

#include <cstdint>

namespace memtrace::record {

// The identity of a frame, read without the GIL. Between two walks, a code object may be freed and another
// allocated at its address. Of 3,000 exec'd functions, code and lasti alone were wrong for a third; all fields
// together were never wrong.
struct PythonFrame {
  const void* code;
  std::uint32_t lasti;      // byte offset of the instruction; before the first, negative as int32_t
  std::uint32_t first_line; // of the code object
  const void* line_table;
  const void* file;        // the str of co_filename
  std::uint64_t name_hash; // the hash that the str of co_name caches

  friend bool operator==(const PythonFrame&, const PythonFrame&) = default;
};

} // namespace memtrace::record
