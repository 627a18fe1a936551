// Purpose: bytes of any kind -> valid UTF-8 without control characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace memtrace::report {

// Returns `bytes` for one line of a terminal, so that no file name can steer it or look like another name. Each
// byte that is not UTF-8 becomes U+FFFD, a control character '?', another character that shows nothing
// "\u{202E}".
std::string printable(std::string_view bytes);

// Columns that valid UTF-8 takes, one for each code point.
std::size_t columns(std::string_view text);

// At most `most` columns; what is left out in the middle is shown as "...".
std::string shortened(const std::string& text, std::size_t most);

} // namespace memtrace::report
