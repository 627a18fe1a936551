// Purpose: the identity of this process, as records.
// Runs: when recording begins.
#pragma once

#include "preload/format/records.h"

namespace memtrace::record {

// The process that this one was forked from, if memtrace was in it.
struct Parent {
  std::uint32_t pid = 0;
  std::uint64_t trace_id = 0; // 0: the parent had no trace
  format::Stamp stamp = 0;
  std::int64_t live = 0;
  std::int64_t tensor = 0;
};

// Interns the texts that put_identity() uses. Reads /proc/self. The caller holds the guard.
void prepare_identity(const Parent& parent);
// Puts process, job and, for a forked child, fork records.
void put_identity(void (*put)(void* out, const format::RingRecord& record), void* out);

// Replaces values that look like secrets by `***`, in place, in a NUL-separated argument list. Returns the new
// size.
std::size_t redact(char* arguments, std::size_t bytes);

} // namespace memtrace::record
