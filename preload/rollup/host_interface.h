// Purpose: all functions that this folder needs from the rest of the recorder, so that it can run without a
// process.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/format/records.h"

namespace memtrace::rollup {

struct Host {
  void* (*map)(std::size_t bytes); // returns zeroed pages; nullptr if there are none
  // Returns the memory with more zeroed pages behind it, maybe at another address. Returns nullptr if there are
  // no pages; then the memory is unchanged.
  void* (*extend)(void* memory, std::size_t bytes, std::size_t wanted);
  // Copies at most `capacity` bytes of the text of `id`. Returns the number of copied bytes.
  std::size_t (*text)(format::TextId id, char* out, std::size_t capacity);
  // Writes the text of an id that this folder assigned into the trace, at once.
  void (*define)(format::TextId id, const char* text, std::size_t bytes);
  // True if the thread may still record. Little is retained of other threads.
  bool (*lives)(std::uint32_t thread);
};

// The first text id of paths. The recorder's tables assign ids from 1, the samples from 0x80000000.
inline constexpr std::uint32_t kPathTexts = 0xC0000000;

inline constexpr unsigned kMemories = 17; // host and 16 devices

} // namespace memtrace::rollup
