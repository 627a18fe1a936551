// Purpose: the memory that replaces TLS on the background thread.
// Runs: on a thread of the program that starts the background thread.
#pragma once

#include <cstddef>

namespace memtrace::record {

// Returns the bytes that make_tls_stand_in() needs. They are zero pages but for the few that are touched.
std::size_t tls_stand_in_bytes();

// Prepares TLS with its first values in `memory`, tls_stand_in_bytes() of zeros, and returns the thread pointer
// for clone(). Only memtrace's own words are set. The word of each other library is zero.
void* make_tls_stand_in(char* memory);

} // namespace memtrace::record
