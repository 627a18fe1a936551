// Purpose: reads the Python frames of the calling thread without the GIL.
// Runs: inside the program's malloc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/stack/python_frame.h"

namespace memtrace::record {

// An instruction of Python. Threads without Python, and unknown versions, have one place: all members are 0.
struct PythonPlace {
  const void* code;
  std::uint32_t lasti;

  friend bool operator==(const PythonPlace&, const PythonPlace&) = default;
};

// The calls of torch.nn.Module that are on a stack: the modules themselves, innermost first. The deepest ones
// alone: a caller of theirs tells less.
struct ModuleCalls {
  static constexpr std::size_t kMost = 8;
  std::size_t count;
  const void* self[kMost];
};

// The names of a frame. The pointers lead into live str objects or into the caller's buffer.
struct PythonNames {
  const char* function; // qualified from 3.11 on
  std::size_t function_bytes;
  const char* file; // as bytes: surrogateescape is undone
  std::size_t file_bytes;
  std::uint32_t first_line;
  std::uint32_t line; // first_line if the instruction has none
};

struct PythonSymbols {
  void* (*this_thread_state)(); // PyGILState_GetThisThreadState; 3-6 ns, null for a thread without Python
  const char* version;          // Py_GetVersion()
  const void* runtime;          // &_PyRuntime, where 3.13 and later describe their layout; may be null
};

// Returns the minor version of "3.11.7 (main, ..."; -1 for other texts. The layouts hold for releases and
// candidates, so alphas and betas are -1, too.
int python_minor(const char* version);

// Sets the version of CPython; once, outside any hook. False: the frames of this version are not known, so
// stacks stay native.
bool python_attach(const PythonSymbols& symbols);
// Ends all walks. Python's atexit calls it, because later the thread states of daemon threads are freed.
void python_detach();
bool python_attached();
// Leaves out the frames whose co_filename is this object: the bootstrap's wrappers.
void python_hide(const void* file);
// Sets the code object of the function, in the file that is hidden, whose first argument is the module that it
// calls.
void python_module_call(const void* code);

// Writes the calling thread's frames, innermost first, and returns their number. It only reads memory. If
// `calls` is not null, writes the modules there; it reads nothing of them.
std::size_t python_walk(PythonFrame* out, std::size_t capacity, ModuleCalls* calls = nullptr);

// Returns the place of the local variable to read in a frame with this code object; -1: none.
using WantedLocal = int (*)(const void* code);
// Returns the key of what the innermost frame has in such a variable: the address of the object, or the key of
// the text of a str. Returns 0 if no frame among the innermost has one. It only reads memory.
std::uint64_t python_local(WantedLocal wanted);
// Returns a number that no object has as its address.
std::uint64_t text_key(const char* text, std::size_t bytes);
// True if the calling thread runs Python, or did.
bool python_has_this_thread();
// Sets the type object of str.
void python_text_type(const void* type);

// Returns the instruction that the calling thread's innermost frame is at. It only reads memory.
PythonPlace python_place();

// Reads the names of a frame that is now on the calling thread's stack, so that its code is alive. Returns
// false, and writes nothing, if a string does not fit into the buffer (non-ASCII strings are encoded there) or
// python_detach() was called.
bool python_names(const PythonFrame& frame, PythonNames* names, char* room, std::size_t room_bytes);

} // namespace memtrace::record
