// Purpose: the text of a mark: a name of a phase, a role, a tensor.
// Runs: on the program's thread, outside malloc.
#pragma once

#include "preload/format/records.h"
#include "preload/record/interner.h"

namespace memtrace::record {

constexpr std::size_t kMaxMarkText = 200; // bytes; the rest of a longer text is not recorded

inline format::TextId mark_text(const char* text, std::size_t bytes) {
  return intern_text(text, bytes < kMaxMarkText ? bytes : kMaxMarkText);
}

} // namespace memtrace::record
