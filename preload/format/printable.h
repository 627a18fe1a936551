// Purpose: decides which characters of a text may be shown on a terminal unchanged.
// Another user may have chosen the bytes of names and settings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace memtrace::format {

struct Character {
  std::size_t bytes = 0; // 0: no UTF-8 begins here (overlong forms and surrogates included)
  char32_t code = 0;
};

// Returns the character at the front of `text`, which must not be empty.
constexpr Character first_character(std::string_view text) {
  const auto at = [&text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = at(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t bytes = lead >= 0xC2 && lead <= 0xDF   ? 2
                            : (lead & 0xF0) == 0xE0        ? 3
                            : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                           : 0;
  if (bytes == 0 || text.size() < bytes) return {};
  char32_t code = lead & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((at(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (at(i) & 0x3F);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kLeast[bytes] || surrogate || code > 0x10FFFF ? Character{} : Character{bytes, code};
}

// True if a terminal obeys the character, or if the character is invisible and changes how the text around it
// looks. These are controls, bidirectional marks, characters without a width, and tags. With bidirectional
// marks a name can look like another name.
constexpr bool steers(char32_t code) {
  const auto within = [code](char32_t first, char32_t last) { return code >= first && code <= last; };
  return code < 0x20 || within(0x7F, 0x9F) || code == 0xAD || code == 0x34F || code == 0x61C ||
         within(0x115F, 0x1160) || within(0x17B4, 0x17B5) || within(0x180B, 0x180F) || within(0x200B, 0x200F) ||
         within(0x2028, 0x202E) || within(0x2060, 0x206F) || code == 0x3164 || within(0xFE00, 0xFE0F) ||
         code == 0xFEFF || code == 0xFFA0 || within(0xFFF0, 0xFFFB) || within(0xE0000, 0xE0FFF);
}

} // namespace memtrace::format
