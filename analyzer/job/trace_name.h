// Purpose: what the name of a trace file says: HOST-PID-START.memtrace.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memtrace::report {

struct TraceName {
  std::string path;
  std::string stem;
  std::string host;
  int pid = 0;
  std::uint64_t start = 0; // Unix time in ns
};

// None: a name of another sort.
std::optional<TraceName> trace_name(const std::string& path);

// The whole text is a number, and it fits.
template <class T>
bool number(std::string_view text, T& value, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

} // namespace memtrace::report
