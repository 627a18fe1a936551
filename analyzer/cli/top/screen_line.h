// Purpose: a line of the screen of `memtrace top`: parts of text with styles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace memtrace::cli {

enum class Style : std::uint8_t { plain, bold, faint, warning, alarm, chosen };

struct Span {
  std::string text; // printable
  Style style = Style::plain;
};
using ScreenLine = std::vector<Span>;

} // namespace memtrace::cli
