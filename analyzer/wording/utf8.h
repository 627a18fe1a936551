// Purpose: bytes of any kind -> valid UTF-8 without control characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace memtrace::report {

// Bytes that are no UTF-8 become U+FFFD, one for each.
std::string valid_utf8(std::string_view bytes);

// The same for one line of a terminal, so that no file name can steer it or look like another one: control
// characters become '?', other characters without a look of their own "\u{202E}".
std::string printable(std::string_view bytes);

// Columns that valid UTF-8 takes, one for each code point.
std::size_t columns(std::string_view text);

// At most `most` columns; what is left out in the middle is shown as "...".
std::string shortened(const std::string& text, std::size_t most);

} // namespace memtrace::report
