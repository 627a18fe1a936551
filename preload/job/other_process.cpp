// Purpose: finds out whether another process of the job still runs.
// Runs: when recording begins, then on the background thread.
#include "preload/job/other_process.h"

#include <cstring>

#include "preload/bounded/fixed_string.h"
#include "preload/format/file_headers.h"
#include "preload/kernel/proc_file.h"
#include "preload/os/clocks.h"
#include "preload/os/paths.h"
#include "preload/os/threads.h"

namespace memtrace::record {
namespace {

constexpr std::uint64_t kNsPerTick = 10'000'000; // USER_HZ is 100
constexpr std::uint64_t kSlack = 2'000'000'000;  // tolerance between two clocks

} // namespace

bool began_before(std::uint32_t pid, std::uint64_t unix_ns) {
  if (static_cast<int>(pid) == os::process_id()) return false;
  Line<64> path;
  const char* const text = read_kernel_file(path.add("/proc/").add(pid).add("/stat").text());
  if (text == nullptr) return false;
  const char* at = std::strrchr(text, ')'); // a process name may contain any character
  for (int i = 2; at != nullptr && i < 22; ++i) at = std::strchr(at + 1, ' ');
  if (at == nullptr) return false;
  const std::uint64_t age = os::boot_ns() - number_at(at) * kNsPerTick;
  return os::unix_ns() - age <= unix_ns + kSlack;
}

std::uint64_t start_of(const char* stem, std::uint32_t* pid) {
  const char* const start = std::strrchr(stem, '-');
  const char* before = start;
  while (before != nullptr && before > stem && before[-1] != '-') --before;
  if (before == nullptr || before == stem) return 0;
  *pid = static_cast<std::uint32_t>(number_at(before));
  return hexadecimal_at(start + 1);
}

std::uint64_t written_ns(const char* stem) {
  static constinit Path path{}; // the callers hold the lock of their search
  path.clear();
  std::uint64_t last = os::modified_ns(path.add(stem).add(".memtrace").text());
  for (unsigned i = 0; i < format::kWindowFiles; ++i) {
    path.clear();
    const std::uint64_t written = os::modified_ns(path.add(stem).add(".window-").add(i).text());
    if (written > last) last = written;
  }
  return last;
}

} // namespace memtrace::record
