// Purpose: the times that logs and orchestrators write.
#pragma once

#include <optional>
#include <string_view>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// Unix time of "2026-11-21T16:21:24", with or without a fraction and a zone ("Z", "+0100", "+01:00"); or with a
// space in the place of the T. `used` becomes the characters it took. None: it is no such time.
std::optional<When> iso_time(std::string_view text, std::size_t* used = nullptr);

// How a line of a log begins: "[11980.929788] ", "[Sat Nov 21 16:21:24 2026] ", "Nov 21 16:21:24 host kernel:
// ", an ISO time. A year that is not said is the one that puts it closest to `near_unix`.
When line_time(std::string_view line, double near_unix);

} // namespace memtrace::evidence
