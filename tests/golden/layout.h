// Purpose: the layout of the headers and rows of a trace, and the order of its names, as text.
#pragma once

#include <string>

namespace memtrace::tests {

// Returns one line for each field, constant or name. The golden bytes do not show a field that is 0 in them.
std::string layout();

} // namespace memtrace::tests
