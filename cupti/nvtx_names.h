// Purpose: names of NVTX ranges, each kept once, for good.
// Runs: on the program's threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::cupti::nvtx {

inline constexpr std::size_t kMaxName = 200; // what the recorder keeps of a phase's name

// Whole and NUL-terminated. Its address is what NVTX calls a string's handle.
struct Name {
  std::uint32_t bytes;
  char text[kMaxName + 1];
};

// Null: there are too many (a range for every operator with a number in its name), or the name is empty. No
// lock is taken by who finds a name that is there.
const Name* name_of(const char* text);
const Name* name_of(const wchar_t* text);
// A handle that a program gives: null if it is not one of ours.
const Name* name_of_handle(const void* handle);

} // namespace memtrace::cupti::nvtx
