// Purpose: finds the directories beside a job's own, which contain the jobs before it.
// Runs: once, when recording begins; also inside a malloc, on a small stack.
#include "preload/job/sibling_jobs.h"

#include <dirent.h>

#include <cstring>

#include "preload/bounded/fixed_string.h"
#include "preload/os/files.h"
#include "preload/os/paths.h"

namespace memtrace::record {
namespace {

constexpr unsigned kMost = 32;
constexpr unsigned kMostNames = 20'000; // names that are read, because a directory may hold other things too

// Static: one thread begins to record at a time, and its stack may be small.
constinit Path above{};
constinit Path path{};
constinit Line<200> names[kMost]{}; // from the last to the first
constinit unsigned found = 0;
alignas(std::uint64_t) constinit char buffer[8 * 1024];

struct DirectoryEntry { // of getdents64
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t bytes;
  std::uint8_t type;
  char name[1];
};

void keep(const char* name) {
  unsigned at = found;
  while (at != 0 && std::strcmp(names[at - 1].text(), name) < 0) --at;
  if (at == kMost) return;
  for (unsigned i = found < kMost ? found : kMost - 1; i > at; --i) names[i] = names[i - 1];
  names[at].clear();
  names[at].add(name);
  if (found < kMost) ++found;
}

void look(long fd, const char* own) {
  for (unsigned seen = 0; seen < kMostNames;) {
    const long bytes = os::read_directory(fd, buffer, sizeof buffer);
    if (bytes <= 0) return;
    for (long at = 0; at < bytes; ++seen) {
      const auto* const entry = reinterpret_cast<const DirectoryEntry*>(buffer + at);
      at += entry->bytes;
      const bool may_be_one = entry->type == DT_DIR || entry->type == DT_UNKNOWN;
      if (may_be_one && entry->name[0] != '.' && std::strcmp(entry->name, own) != 0) keep(entry->name);
    }
  }
}

} // namespace

unsigned find_siblings(const char* directory) {
  found = 0;
  const char* const slash = std::strrchr(directory, '/');
  if (slash == nullptr) return 0;
  above.clear();
  above.add(directory, static_cast<std::size_t>(slash - directory));
  const long fd = os::open_directory(above.text());
  if (fd < 0) return 0;
  look(fd, slash + 1);
  os::close(fd);
  return found;
}

const char* sibling(unsigned index) {
  path.clear();
  return path.add(above.text()).add("/").add(names[index].text()).text();
}

} // namespace memtrace::record
