// Purpose: whether the local disk, from which traces are copied, is removed with the job.
// Runs: on memtrace's own thread.
#include "preload/copies/local_disk.h"

#include "preload/format/file_systems.h"
#include "preload/kernel/proc_lines.h"

namespace memtrace::record {
namespace {

constinit ProcLines<8192> lines{};

} // namespace

// The innermost mount counts. If several have one path, the last covers the others.
bool disk_goes_with_job(const char* directory) {
  std::size_t longest = 0;
  bool goes = false;
  lines.open("/proc/self/mountinfo");
  for (std::string_view line = lines.next(); line.data() != nullptr; line = lines.next()) {
    const format::Mount mount = format::parse_mount(line);
    if (mount.point.size() < longest || !format::is_at(mount, directory)) continue;
    longest = mount.point.size();
    goes = format::goes_with_job(mount);
  }
  lines.close();
  return goes;
}

} // namespace memtrace::record
