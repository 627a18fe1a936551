// Purpose: fmt's functions, compiled once for all sources that include <fmt/core.h>.
#include <fmt/format.h> // in this folder alone with FMT_HEADER_ONLY, which defines fmt's functions

#include <string>

namespace memtrace::files {
namespace {

// fmt::format() calls fmt::vformat(). Its address keeps the definition in the object file.
[[gnu::used]] std::string (*const kept)(fmt::string_view, fmt::format_args) = &fmt::vformat;

} // namespace
} // namespace memtrace::files
