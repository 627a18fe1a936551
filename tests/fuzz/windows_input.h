// Purpose: what separates the files in an input of the target `windows`.
#pragma once

#include <string_view>

namespace memtrace::tests {

inline constexpr std::string_view kNext = "\nNEXT\n";

} // namespace memtrace::tests
