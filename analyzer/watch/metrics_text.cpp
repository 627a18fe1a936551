// Purpose: writes figures of a job in the text format of Prometheus.
#include "analyzer/watch/metrics_text.h"

#include <fmt/core.h>

#include <functional>
#include <utility>

#include "analyzer/wording/utf8.h"

namespace memtrace::watch {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

// In a value, the format escapes the backslash, the quote and the end of a line. Other control characters do
// not come: names of cgroups and programs may have any byte.
std::string escaped(const std::string& value) {
  std::string out;
  for (const char c : report::printable(value)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

class MetricFamily {
 public:
  MetricFamily(std::string& out, const char* name, const char* type, const char* help)
      : out_(out), name_(name), type_(type), help_(help) {}

  void sample(const Labels& labels, const std::string& value) {
    if (!begun_) out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name_, help_, name_, type_);
    begun_ = true;
    std::string text;
    for (const auto& [label, said] : labels)
      text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", label, escaped(said));
    out_ += fmt::format("{}{{{}}} {}\n", name_, text, value);
  }

 private:
  std::string& out_;
  const char* name_;
  const char* type_;
  const char* help_;
  bool begun_ = false;
};

class MetricWriter {
 public:
  explicit MetricWriter(const JobMetrics& job) : job_(job) {}

  using Samples = std::function<void(const ProcessMetrics&, const Labels&, MetricFamily&)>;
  void each_process(const char* name, const char* type, const char* help, const Samples& samples) {
    MetricFamily family(out_, name, type, help);
    for (const ProcessMetrics& process : job_.processes)
      samples(process,
              {{"host", job_.host},
               {"job", job_.job},
               {"pid", std::to_string(process.pid)},
               {"rank", process.rank},
               {"program", process.program}},
              family);
  }
  template <class Number>
  void number(const char* name, const char* help, std::optional<Number> ProcessMetrics::*member) {
    each_process(name, "gauge", help,
                 [member](const ProcessMetrics& process, const Labels& labels, MetricFamily& family) {
                   if (const auto value = process.*member) family.sample(labels, fmt::format("{}", *value));
                 });
  }
  void named(const char* name, const char* type, const char* help, const char* label,
             std::map<std::string, std::uint64_t> ProcessMetrics::*member) {
    each_process(name, type, help,
                 [label, member](const ProcessMetrics& process, Labels labels, MetricFamily& family) {
                   labels.emplace_back(label, "");
                   for (const auto& [key, value] : process.*member) {
                     labels.back().second = key;
                     family.sample(labels, fmt::format("{}", value));
                   }
                 });
  }
  void each_limit(const char* name, const char* help, const std::function<std::uint64_t(const LimitUse&)>& of) {
    MetricFamily family(out_, name, "gauge", help);
    for (const LimitUse& use : job_.limits)
      family.sample({{"host", job_.host},
                     {"job", job_.job},
                     {"kind", kind_label(use.kind)},
                     {"name", use.name},
                     {"pid", use.pid == 0 ? "" : std::to_string(use.pid)}},
                    fmt::format("{}", of(use)));
  }
  std::string& out() { return out_; }

 private:
  const JobMetrics& job_;
  std::string out_;
};

} // namespace

std::string metrics_text(const JobMetrics& job) {
  MetricWriter writer(job);
  writer.each_process("memtrace_process_resident_bytes", "gauge", "RSS of the process, from the kernel.",
                      [](const ProcessMetrics& process, const Labels& labels, MetricFamily& family) {
                        family.sample(labels, fmt::format("{}", process.resident));
                      });
  writer.number("memtrace_process_resident_peak_bytes", "Highest RSS of the process so far, from the kernel.",
                &ProcessMetrics::resident_peak);
  writer.named("memtrace_live_bytes", "gauge", "Bytes allocated and not freed, by memory.", "memory",
               &ProcessMetrics::live);
  writer.each_process("memtrace_role_bytes", "gauge", "Bytes that each role holds, by memory.",
                      [](const ProcessMetrics& process, Labels labels, MetricFamily& family) {
                        labels.emplace_back("memory", "");
                        labels.emplace_back("role", "");
                        for (const auto& [key, bytes] : process.roles) {
                          labels[labels.size() - 2].second = key.first;
                          labels.back().second = key.second;
                          family.sample(labels, fmt::format("{}", bytes));
                        }
                      });
  writer.number("memtrace_live_growth_bytes_per_step",
                "Estimate of how much the live bytes of the host grow in each step.", &ProcessMetrics::growth);
  writer.number("memtrace_step", "Number of the present training step, from 0.", &ProcessMetrics::step);
  writer.each_process("memtrace_phase", "gauge", "1 for the present phase of the process.",
                      [](const ProcessMetrics& process, Labels labels, MetricFamily& family) {
                        if (process.phase.empty()) return;
                        labels.emplace_back("phase", process.phase);
                        family.sample(labels, "1");
                      });
  writer.named("memtrace_lost_events_total", "counter", "Events that were not recorded, by reason.", "reason",
               &ProcessMetrics::lost);
  writer.number("memtrace_trace_bytes", "Bytes written to the trace of the process.",
                &ProcessMetrics::trace_bytes);
  writer.number("memtrace_recorder_bytes", "Private memory of the recorder in the process, without rings.",
                &ProcessMetrics::recorder_bytes);
  writer.each_limit("memtrace_limit_bytes", "A limit that would end a process of the job.",
                    [](const LimitUse& use) { return use.limit; });
  writer.each_limit("memtrace_limit_used_bytes",
                    "Bytes that count against the limit; of a cgroup near its limit, without clean page cache.",
                    [](const LimitUse& use) { return use.used; });
  MetricFamily time(writer.out(), "memtrace_read_timestamp_seconds", "gauge",
                    "Unix time at which the figures were read.");
  time.sample({{"host", job.host}, {"job", job.job}}, fmt::format("{:.3f}", job.unix_seconds));
  return writer.out();
}

} // namespace memtrace::watch
