// Purpose: points the imports of libunwind at functions that a hook may call (docs/decisions/0005).
// Runs: in the constructor; the functions run inside the program's malloc.
#pragma once

#include <link.h>

#include <cstdint>

namespace memtrace::record {

// Redirects the imports of this library, which is opened and bound. False: an import that must be
// redirected was not found, so the library is not used. Constructor only.
bool redirect_imports(const link_map* library);

// True if the library searched a module through the redirected import. Then it takes no lock of the loader.
bool searched_by_redirection();

// False: a thread ended while it changed memory that all threads use. Walks must end.
bool shared_memory_is_sound();

std::uint64_t libunwind_bytes(); // mapped by the library, in walks

// Marks the thread as in a walk of memtrace during its lifetime. The program may open the same library. Outside
// of walks, a function that would change what the program sees calls the function that it replaces.
class InWalk {
 public:
  InWalk();
  ~InWalk();
  static bool is_open();
  InWalk(const InWalk&) = delete;
  InWalk& operator=(const InWalk&) = delete;
};

} // namespace memtrace::record
