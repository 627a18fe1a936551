// Purpose: which Python code the calling thread is in, read from its frames without the GIL.
// Runs: inside the program's malloc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// One frame, as identified without the GIL. A code object may die and another be born at its address between
// two walks: code and lasti alone were wrong for a third of 3,000 exec'd functions, all fields together for
// none.
struct PythonFrame {
  const void* code;
  std::uint32_t lasti;      // byte offset of the instruction; as int32_t below 0 before the first
  std::uint32_t first_line; // of the code object
  const void* line_table;
  const void* file;        // the str of co_filename
  std::uint64_t name_hash; // hash that the str of co_name caches

  friend bool operator==(const PythonFrame&, const PythonFrame&) = default;
};

// What a frame is called. The pointers lead into live str objects or into the caller's room.
struct PythonNames {
  const char* function; // qualified from 3.11 on
  std::size_t function_bytes;
  const char* file; // as bytes: surrogateescape is undone
  std::size_t file_bytes;
  std::uint32_t first_line;
  std::uint32_t line; // first_line when the instruction has none
};

struct PythonSymbols {
  void* (*this_thread_state)(); // PyGILState_GetThisThreadState; 3-6 ns, null for a thread without Python
  const char* version;          // Py_GetVersion()
  const void* runtime;          // &_PyRuntime: 3.13 and later describe themselves there; may be null
};

// Says which CPython this is; once, outside any hook. False: a version whose frames are not known here, so
// stacks stay native.
bool python_attach(const PythonSymbols& symbols);
// Ends all walks. For Python's atexit: later, thread states of daemon threads are freed under them.
void python_detach();
bool python_attached();
// Frames whose co_filename is this object are left out: the bootstrap's wrappers.
void python_hide(const void* file);

// The calling thread's frames, innermost first; how many were written. Reads memory, does nothing else.
std::size_t python_walk(PythonFrame* out, std::size_t capacity);

// Names of a frame that is on the calling thread's stack now, so that its code is alive. False, with nothing
// written, when a string does not fit into the room (non-ASCII ones are encoded there) or Python has left.
bool python_names(const PythonFrame& frame, PythonNames* names, char* room, std::size_t room_bytes);

} // namespace memtrace::record
