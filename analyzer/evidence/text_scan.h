// Purpose: scans text that other programs wrote.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace memtrace::evidence {

inline std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// Returns the first line without its newline, and removes it from `text`.
inline std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// Returns the number at the start of the text, or nullopt.
inline std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

// Returns the text between the first `from` and the next `to` after it, or up to the end. Returns nullopt if
// `from` is missing.
inline std::optional<std::string_view> between(std::string_view text, std::string_view from,
                                               std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + from.size());
  return text.substr(0, text.find(to));
}

} // namespace memtrace::evidence
