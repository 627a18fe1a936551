// Purpose: reads how much of one mapping is in memory, from /proc/self/smaps.
// Runs: on the background thread.
#include "preload/kernel/smaps.h"

#include "preload/kernel/proc_file.h"

namespace memtrace::record {
namespace {

// True for a line such as "7f0c1c000000-7f0c1c021000 rw-p ...". The lines of figures begin with a capital
// letter.
bool is_mapping(std::string_view line) {
  return !line.empty() && ((line[0] >= '0' && line[0] <= '9') || (line[0] >= 'a' && line[0] <= 'f'));
}

} // namespace

std::uint64_t SmapsReader::resident_of(std::uint64_t start) {
  bool found = false;
  for (std::string_view line = lines_.next(); line.data() != nullptr; line = lines_.next()) {
    if (is_mapping(line)) {
      const std::uint64_t begin = hexadecimal_at(line.data());
      if (begin > start) return 0; // the mapping is gone
      found = begin == start;
    } else if (found && line.starts_with("Rss:")) {
      return number_at(line.data() + 4) * 1024;
    }
  }
  return 0;
}

} // namespace memtrace::record
