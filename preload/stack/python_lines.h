// Purpose: decodes the line tables of code objects.
// Runs: inside the program's malloc.
#pragma once

#include <cstdint>

#include "preload/stack/python_frame.h"
#include "preload/stack/python_layouts.h"

namespace memtrace::record {

// Returns the line of the frame's instruction, or the first line of its code if the instruction has none. The
// code is alive. The caller holds the definitions lock.
std::uint32_t line_of(const Layout& layout, const PythonFrame& frame);

} // namespace memtrace::record
