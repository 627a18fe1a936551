// Room: record. On any thread.
// Job: how much of this process is in memory, as the kernel counts it: a look of some us.
#include "record/statm.h"

#include <cstring>

#include "format/event.h"
#include "format/header.h"
#include "record/kernel_text.h"
#include "record/os.h"

namespace memtrace::record {

using format::kPage;

Statm statm() {
  char text[128];
  const long fd = os::open_kernel("/proc/self/statm"); // "size resident shared ...", in pages
  const long bytes = fd < 0 ? 0 : os::read_all(fd, text, sizeof text - 1);
  if (fd >= 0) os::close(fd);
  if (bytes <= 0) return {};
  text[bytes] = '\0';
  std::uint64_t pages[2] = {};
  const char* at = text;
  for (std::uint64_t& figure : pages) {
    at = std::strchr(at, ' ');
    if (at == nullptr || (figure = number_at(++at)) == format::kNotSaid) return {};
  }
  return {pages[0] * kPage, pages[1] * kPage};
}

std::uint64_t resident_now() {
  return statm().resident;
}

} // namespace memtrace::record
