// Purpose: reads the log of the running kernel.
#include "analyzer/evidence/sources/kernel_buffer.h"

#include <sys/klog.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "analyzer/evidence/sources/kernel_log.h"
#include "analyzer/evidence/text_scan.h"
#include "analyzer/files/reading.h"

namespace memtrace::evidence {
namespace {

// Reads "6,1234,11980929788,-;Memory cgroup out of memory: ..." and its lines of details. Programs may write to
// the log too, and the facility shows it. Only records of the kernel itself are evidence.
void take_record(std::string_view record, KernelLog& log) {
  const std::size_t text = record.find(';');
  const auto priority = number(record);
  if (text == std::string_view::npos || !priority || *priority >> 3 != 0) return;
  std::string_view fields = record.substr(0, text);
  for (int i = 0; i < 2; ++i) fields.remove_prefix(std::min(fields.size(), fields.find(',') + 1));
  When when;
  if (const auto microseconds = number(fields)) when.boot = static_cast<double>(*microseconds) / 1e6;
  log.line(trimmed(record.substr(text + 1, record.find('\n') - text - 1)), when);
}

bool read_records(KernelLog& log) {
  const int file = files::open_kernel_log();
  if (file < 0) return false;
  std::vector<char> buffer(16 * 1024); // a record has at most half of these bytes
  bool any = false;
  for (;;) {
    const ssize_t bytes = ::read(file, buffer.data(), buffer.size());
    if (bytes > 0) {
      any = true;
      take_record({buffer.data(), static_cast<std::size_t>(bytes)}, log);
    } else if (bytes == 0 || (errno != EPIPE && errno != EINTR)) {
      break; // EPIPE: the kernel overwrote the oldest record meanwhile
    }
  }
  ::close(file);
  return any;
}

} // namespace

std::string read_kernel(Evidence& into) {
  KernelLog log(into, 0);
  if (read_records(log)) {
    into.log_from = log.from();
    return {};
  }
  constexpr int kReadAll = 3, kSize = 10;
  const int size = ::klogctl(kSize, nullptr, 0);
  std::vector<char> text(size > 0 ? static_cast<std::size_t>(size) : 0);
  const int bytes = size > 0 ? ::klogctl(kReadAll, text.data(), size) : -1;
  if (bytes < 0) return std::strerror(errno);
  log.all({text.data(), static_cast<std::size_t>(bytes)});
  into.log_from = log.from();
  return {};
}

std::string boot_id() {
  const std::string text = files::system_text("/proc/sys/kernel/random/boot_id");
  return text.substr(0, text.find('\n'));
}

} // namespace memtrace::evidence
