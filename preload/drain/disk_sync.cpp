// Purpose: writes the trace to the disk itself from time to time, in case the node fails.
// Runs: on the background thread.
#include "preload/drain/disk_sync.h"

#include "preload/os/clocks.h"
#include "preload/os/file_system.h"
#include "preload/os/files.h"
#include "preload/ring/ring_file.h"
#include "preload/trace/trace_file.h"

namespace memtrace::record {
namespace {

constexpr std::uint64_t kFirstNs = 2'000'000'000; // by then the trace has its definitions
constexpr std::uint64_t kPeriodNs = 30'000'000'000;
constexpr std::uint64_t kShare = 20; // syncs begin at least 20 times their duration apart

constinit std::uint64_t context = 0; // the kernel's AIO context; 0: none yet
constinit bool refused = false;      // before Linux 4.18, or by a seccomp filter
constinit std::uint64_t due = 0;     // 0: not set yet
constinit std::uint64_t began = 0;
constinit long waiting = 0; // unanswered requests to the kernel

void sync(const char* path) {
  if (medium_of(path) == Medium::network) return;
  const long fd = os::open_own(path, os::For::changing);
  if (fd < 0) return;
  if (!refused && os::sync_later(&context, fd) == 0) {
    ++waiting;
  } else {
    refused = true;
    os::begin_writing_out(fd);
  }
  os::close(fd);
}

} // namespace

void sync_if_due() {
  const std::uint64_t now = os::monotonic_ns();
  if (due == 0) due = now + kFirstNs;
  if (now < due) return;
  if (waiting > 0) {
    waiting -= os::syncs_done(context);
    if (waiting > 0) return;
    const std::uint64_t gap = (now - began) * kShare;
    due = began + (gap > kPeriodNs ? gap : kPeriodNs);
    return;
  }
  began = now;
  sync(trace_file.path.text());
  sync(ring_path().text());
  if (waiting == 0) due = now + kPeriodNs;
}

void forget_syncs() {
  context = 0;
  due = 0;
  waiting = 0;
}

} // namespace memtrace::record
