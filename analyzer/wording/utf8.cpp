// Purpose: turns any bytes into valid UTF-8 without control characters.
#include "analyzer/wording/utf8.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "preload/format/printable.h"

namespace memtrace::report {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";

bool continuation(char c) {
  return (static_cast<std::uint8_t>(c) & 0xC0) == 0x80;
}

} // namespace

std::string printable(std::string_view bytes) {
  std::string out;
  for (std::string_view rest = bytes; !rest.empty();) {
    const format::Character one = format::first_character(rest);
    if (one.bytes == 0) {
      out += kReplacement;
    } else if (!format::steers(one.code)) {
      out += rest.substr(0, one.bytes);
    } else if (one.code < 0x20 || one.code == 0x7F) {
      out += '?';
    } else {
      out += fmt::format("\\u{{{:X}}}", static_cast<std::uint32_t>(one.code));
    }
    rest.remove_prefix(std::max<std::size_t>(one.bytes, 1));
  }
  return out;
}

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += continuation(c) ? 0 : 1;
  return count;
}

std::string shortened(const std::string& text, std::size_t most) {
  const std::size_t all = columns(text);
  if (all <= most) return text;
  const std::size_t keep = most > 3 ? most - 3 : 0;
  const std::size_t front = keep / 2;
  const std::size_t back = keep - front;
  std::string out;
  std::size_t column = 0; // of the current character, from 1
  bool dots = false;
  for (const char c : text) {
    if (!continuation(c)) ++column;
    if (column <= front || column > all - back) {
      out += c;
    } else if (!dots) {
      out += std::string(most < 3 ? most : 3, '.');
      dots = true;
    }
  }
  return out;
}

} // namespace memtrace::report
