// Purpose: parses the name of a trace file: HOST-PID-START.memtrace.
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

// Returns nullopt if the name has another form.
std::optional<TraceName> trace_name(const std::string& path);

// True if the whole text is a number that fits into T.
template <class T>
bool number(std::string_view text, T& value, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

} // namespace memtrace::report
