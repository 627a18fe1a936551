// Purpose: all that this room asks of the world around it, so that it can be driven without a process.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/format/records.h"

namespace memtrace::rollup {

struct Host {
  void* (*map)(std::size_t bytes); // zeroed pages; null when there are none
  // The same memory, maybe elsewhere, with more zeroed pages behind it; null: none, and it is as it was.
  void* (*extend)(void* memory, std::size_t bytes, std::size_t wanted);
  // What a name says: copies at most `capacity` bytes, returns how many.
  std::size_t (*text)(format::TextId id, char* out, std::size_t capacity);
  // Writes the text of an id that this room hands out into the trace, at once.
  void (*define)(format::TextId id, const char* text, std::size_t bytes);
  // May this thread record any more? What is kept of others is little.
  bool (*lives)(std::uint32_t thread);
};

// Text ids of paths: apart from those of the recorder's tables (from 1) and of the samples (0x80000000).
inline constexpr std::uint32_t kPathTexts = 0xC0000000;

inline constexpr unsigned kMemories = 17; // host and 16 devices

} // namespace memtrace::rollup
