// Purpose: reads /proc/self/maps, one mapping at a time.
// Runs: on the background thread.
#include "preload/kernel/proc_maps.h"

#include <cstring>

#include "preload/kernel/proc_file.h"

namespace memtrace::record {

// "7f0c1c000000-7f0c1c021000 rw-p 00000000 00:00 0          /path with blanks"
bool parse_mapping(const char* line, std::size_t bytes, Mapping* out) {
  const char* const end = line + bytes;
  const auto* const dash = static_cast<const char*>(std::memchr(line, '-', bytes));
  const auto* at = static_cast<const char*>(std::memchr(line, ' ', bytes));
  if (dash == nullptr || at == nullptr || dash > at || end - at < 6) return false;
  out->start = hexadecimal_at(line);
  out->end = hexadecimal_at(dash + 1);
  out->readable = at[1] == 'r';
  out->executable = at[3] == 'x';
  out->shared = at[4] == 's';
  for (int field = 0; field < 4; ++field) { // permissions, offset, device, inode
    while (at < end && *at == ' ') ++at;
    while (at < end && *at != ' ') ++at;
  }
  while (at < end && *at == ' ') ++at;
  const auto left = static_cast<std::size_t>(end - at);
  const std::size_t kept = left < sizeof out->path - 1 ? left : sizeof out->path - 1;
  std::memcpy(out->path, at, kept);
  out->path[kept] = '\0';
  return out->end > out->start;
}

bool is_anonymous(const Mapping& one) {
  return one.path[0] == '\0' || std::strcmp(one.path, "[heap]") == 0 ||
         std::strncmp(one.path, "[anon:", 6) == 0;
}

bool MapsReader::next(Mapping* out) {
  for (std::string_view line = lines_.next(); line.data() != nullptr; line = lines_.next())
    if (parse_mapping(line.data(), line.size(), out)) return true;
  return false;
}

} // namespace memtrace::record
