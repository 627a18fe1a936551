// Purpose: births with numbers for addresses: appended to a ring, and read back from the trace.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "child.h"
#include "preload/state/thread.h"

namespace memtrace::tests {

// False: it is lost.
bool append_birth(record::Thread& thread, std::uint64_t number);

// Each thread's numbers in the trace of `scratch`, in order of sequence.
std::map<std::uint32_t, std::vector<std::uint64_t>> births_in(const Scratch& scratch);

// From `from` up to the one before `to`.
std::vector<std::uint64_t> numbers(std::uint64_t from, std::uint64_t to);

} // namespace memtrace::tests
