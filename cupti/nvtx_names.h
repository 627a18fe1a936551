// Purpose: the names of NVTX ranges, each stored once and never freed.
// Runs: on the program's threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::cupti::nvtx {

inline constexpr std::size_t kMaxName = 200; // the bytes of a phase's name that the recorder keeps

// A complete name, NUL-terminated. Its address is the handle of a registered string in NVTX.
struct Name {
  std::uint32_t bytes;
  char text[kMaxName + 1];
};

// Return the stored name. Null: the name is empty, or there are too many names (a program may put a number into
// the name of every operator's range). Finding a stored name takes no lock.
const Name* name_of(const char* text);
const Name* name_of(const wchar_t* text);
// Returns the name of a handle that the program passes; null if this library did not make the handle.
const Name* name_of_handle(const void* handle);

} // namespace memtrace::cupti::nvtx
