// Purpose: compresses bytes for readers that know only gzip: browsers, pprof.
#pragma once

#include <string>
#include <string_view>

namespace memtrace::files {

// Returns `bytes` as a gzip file without a name or a time, so that equal input gives equal output. Throws
// std::bad_alloc, or std::runtime_error for more than 4 GiB.
std::string gzip(std::string_view bytes);

} // namespace memtrace::files
