// Purpose: turns any bytes into valid UTF-8 without control characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace memtrace::report {

// Returns `bytes` for one line of a terminal: a file name cannot control the terminal or look like another
// name. Each byte that is not UTF-8 becomes U+FFFD, a control character '?', another invisible character
// "\u{202E}".
std::string printable(std::string_view bytes);

// Returns the columns that valid UTF-8 takes, one for each code point.
std::size_t columns(std::string_view text);

// Returns `text` cut to at most `most` columns; "..." replaces the middle.
std::string shortened(const std::string& text, std::size_t most);

} // namespace memtrace::report
