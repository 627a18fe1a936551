// Purpose: reads the times that logs and orchestrators write.
#pragma once

#include <optional>
#include <string_view>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// Returns the Unix time of "2026-11-21T16:21:24". A space may replace the T. A fraction and a zone ("Z",
// "+0100", "+01:00") are optional. Sets `used` to the number of characters read. Returns nullopt if the text is
// not such a time.
std::optional<When> iso_time(std::string_view text, std::size_t* used = nullptr);

// Returns the time at the start of a log line: "[11980.929788] ", "[Sat Nov 21 16:21:24 2026] ", "Nov 21
// 16:21:24 host kernel: ", "W1121 16:21:24.5 " (glog) or an ISO time, also in a bracket. If the year is
// missing, it is the year that puts the time closest to `near_unix`.
When line_time(std::string_view line, double near_unix);

} // namespace memtrace::evidence
