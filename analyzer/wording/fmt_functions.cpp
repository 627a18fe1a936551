// Purpose: fmt's functions, compiled once for all sources that include <fmt/core.h>.
#define FMT_HEADER_ONLY // here alone: fmt's functions are then defined in this unit
#include <fmt/format.h>

#include <string>

namespace memtrace::report {
namespace {

// fmt::format() calls fmt::vformat(). Its address keeps the definition in the object file.
[[gnu::used]] std::string (*const kept)(fmt::string_view, fmt::format_args) = &fmt::vformat;

} // namespace
} // namespace memtrace::report
