// Purpose: reads variables of the environment.
#pragma once

#include <string>

namespace memtrace::files {

// Returns the value; "" if the variable is not set.
std::string variable(const char* name);

} // namespace memtrace::files
