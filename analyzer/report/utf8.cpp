// Room: report. Paths and arguments are bytes; a report is UTF-8.
// Job: bytes of any kind -> valid UTF-8 without control characters.
#include "report/utf8.h"

#include <cstdint>

namespace memtrace::report {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";

// Bytes of the character at the front, 0 if they are none (overlong forms, surrogates and the like included).
std::size_t character(std::string_view bytes) {
  const auto at = [&bytes](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const std::uint8_t lead = at(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                             : (lead & 0xF0) == 0xE0        ? 3
                             : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                            : 0;
  if (length == 0 || bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  if (lead == 0xE0 && at(1) < 0xA0) return 0;
  if (lead == 0xED && at(1) > 0x9F) return 0;
  if (lead == 0xF0 && at(1) < 0x90) return 0;
  if (lead == 0xF4 && at(1) > 0x8F) return 0;
  return length;
}

bool continuation(char c) {
  return (static_cast<std::uint8_t>(c) & 0xC0) == 0x80;
}

} // namespace

std::string valid_utf8(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const std::size_t length = character(bytes);
    if (length == 0) {
      out += kReplacement;
      bytes.remove_prefix(1);
    } else {
      out += bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
  }
  return out;
}

std::string printable(std::string_view bytes) {
  std::string out = valid_utf8(bytes);
  for (char& c : out) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (byte < 0x20 || byte == 0x7F) c = '?';
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
  std::size_t column = 0; // of the character that was begun last, from 1
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
