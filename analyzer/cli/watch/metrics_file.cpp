// Purpose: the file of --metrics-file, for the textfile collector of Prometheus' node exporter.
#include "analyzer/cli/watch/metrics_file.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "analyzer/files/reading.h"
#include "analyzer/files/writing.h"
#include "analyzer/watch/kernel_file.h"
#include "analyzer/watch/metrics_text.h"
#include "analyzer/watch/process_tree.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::cli {
namespace {

constexpr std::uint64_t kKiB = 1024;

std::string memory_name(std::size_t memory) {
  return memory == 0 ? "host" : "cuda:" + std::to_string(memory - 1);
}

// The recorder's levels are rough, so that one may be below 0 for a moment.
std::uint64_t level(std::uint64_t live) {
  return static_cast<std::int64_t>(live) < 0 ? 0 : live;
}

void add_header(const format::RingFileHeader& header, watch::ProcessMetrics& out) {
  for (std::size_t i = 0; i < std::size(header.live); ++i)
    if (i == 0 || header.live[i] != 0) out.live[memory_name(i)] = level(header.live[i]);
  for (std::size_t i = 0; i < format::kLosses; ++i) {
    // The events of this reason were recorded, with the outer part of their stacks.
    if (i != static_cast<std::size_t>(format::Loss::stacks)) out.lost[format::kLossNames[i]] = header.lost[i];
  }
  out.trace_bytes = header.trace_bytes;
  out.recorder_bytes = header.own_bytes;
}

std::optional<watch::ProcessMetrics> process_metrics(int pid) {
  const auto size = watch::process_size(pid);
  if (!size) return std::nullopt;
  watch::ProcessMetrics out;
  out.pid = pid;
  out.program = watch::program_name(pid);
  out.resident = size->resident;
  const std::string status = files::system_text("/proc/" + std::to_string(pid) + "/status");
  if (const auto peak = watch::number_after(status, "VmHWM")) out.resident_peak = *peak * kKiB;
  return out;
}

std::string host_name() {
  utsname system{};
  return ::uname(&system) == 0 ? system.nodename : "";
}

} // namespace

MetricsFile::~MetricsFile() {
  if (written_) ::unlink(path_.c_str());
}

void MetricsFile::write_if_due(std::uint64_t now, const std::vector<int>& pids,
                               const std::vector<TraceView>& traces,
                               const std::vector<watch::LimitUse>& limits) {
  if (!is_due(now)) return;
  due_ = now + kGapNs;
  watch::JobMetrics job;
  job.host = host_name();
  job.limits = limits;
  for (const int pid : pids) {
    auto process = process_metrics(pid);
    if (!process) continue;
    for (const TraceView& trace : traces) {
      if (trace.pid != pid) continue;
      if (job.job.empty()) job.job = std::filesystem::path(trace.directory).filename().string();
      if (trace.rank) process->rank = std::to_string(*trace.rank);
      if (trace.header) add_header(*trace.header, *process);
      if (trace.step != replay::Step::none) process->step = static_cast<std::int64_t>(trace.step);
      process->phase = trace.phase;
      process->growth = trace.growth;
      process->roles = trace.roles;
    }
    job.processes.push_back(*std::move(process));
  }
  job.unix_seconds = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  if (files::replace(path_, metrics_text(job))) {
    written_ = true;
  } else if (!std::exchange(failed_, true)) {
    std::fprintf(stderr, "memtrace: run: --metrics-file: cannot write %s: %s\n",
                 report::printable(path_).c_str(), std::strerror(errno));
  }
}

} // namespace memtrace::cli
