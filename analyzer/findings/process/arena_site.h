// Purpose: the site of Python's arenas.
#pragma once

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

// True for an arena, which Python's allocator of small objects requests when its last one is full. It is chance
// which line requests it, so all arenas are one site.
bool is_arena(const symbols::Site& site);

} // namespace memtrace::report
