// Purpose: reads the RSS of this process from the kernel's counters, in some us.
// Runs: on any thread.
#include "preload/kernel/statm.h"

#include <cstring>

#include "preload/format/file_headers.h"
#include "preload/format/records.h"
#include "preload/kernel/proc_file.h"
#include "preload/os/files.h"
#include "preload/os/kept_file.h"
#include "preload/os/threads.h"

namespace memtrace::record {

using format::kPage;

namespace {

constinit std::uint64_t more_resident = 0, more_shared = 0; // modulo 2^64

// The parts change independently of the correction, so a corrected value may be negative.
std::uint64_t at_least_nothing(std::uint64_t value) {
  return static_cast<std::int64_t>(value) < 0 ? 0 : value;
}

} // namespace

void correct_statm(std::int64_t anonymous, std::int64_t other) {
  __atomic_store_n(&more_resident, static_cast<std::uint64_t>(anonymous + other), __ATOMIC_RELAXED);
  __atomic_store_n(&more_shared, static_cast<std::uint64_t>(other), __ATOMIC_RELAXED);
}
Statm correction() {
  return {__atomic_load_n(&more_resident, __ATOMIC_RELAXED), __atomic_load_n(&more_shared, __ATOMIC_RELAXED)};
}

Statm statm() {
  const Statm counted = statm_counters(), more = correction();
  if (counted.resident == 0) return counted;
  return {at_least_nothing(counted.resident + more.resident), at_least_nothing(counted.shared + more.shared)};
}

Statm statm_counters() {
  char text[128];
  static constinit os::KeptFile file{};
  const long fd = file.open_kernel("/proc/self/statm"); // "size resident shared ...", in pages
  const long bytes = fd < 0 ? 0 : os::read_at(fd, 0, text, sizeof text - 1);
  if (fd >= 0) file.end_use(fd);
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

std::uint64_t resident_at_most() {
  return at_least_nothing(os::highest_resident() + correction().resident);
}

std::uint64_t resident_now() {
  return statm().resident;
}

} // namespace memtrace::record
