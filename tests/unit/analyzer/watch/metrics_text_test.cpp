// Purpose: the text format of Prometheus, with hostile names.
#include "analyzer/watch/metrics_text.h"

#include <gtest/gtest.h>

namespace memtrace::watch {
namespace {

TEST(MetricsText, HasHelpTypeAndLabels) {
  JobMetrics job;
  job.host = "h";
  job.job = "j";
  ProcessMetrics process;
  process.pid = 7;
  process.rank = "3";
  process.program = "python3";
  process.resident = 4096;
  process.live = {{"host", 5}, {"cuda:0", 6}};
  process.roles = {{{"host", "optimizer state"}, 4}};
  process.lost = {{"disk", 2}};
  process.step = 12;
  process.phase = "forward";
  job.processes.push_back(process);
  job.limits.push_back({LimitKind::cgroup, "/a", 0, 90, 100});
  job.limits.push_back({LimitKind::address_space, "", 7, 8, 9});
  const std::string text = metrics_text(job);
  const std::string who = R"({host="h",job="j",pid="7",rank="3",program="python3")";
  for (const std::string& line :
       {std::string("# HELP memtrace_process_resident_bytes RSS of the process, from the kernel."),
        std::string("# TYPE memtrace_process_resident_bytes gauge"),
        "memtrace_process_resident_bytes" + who + "} 4096",
        "memtrace_live_bytes" + who + R"(,memory="cuda:0"} 6)",
        "memtrace_role_bytes" + who + R"(,memory="host",role="optimizer state"} 4)",
        std::string("# TYPE memtrace_lost_events_total counter"),
        "memtrace_lost_events_total" + who + R"(,reason="disk"} 2)", "memtrace_step" + who + "} 12",
        "memtrace_phase" + who + R"(,phase="forward"} 1)",
        std::string(R"(memtrace_limit_used_bytes{host="h",job="j",kind="cgroup",name="/a",pid=""} 90)"),
        std::string(R"(memtrace_limit_bytes{host="h",job="j",kind="address_space",name="",pid="7"} 9)")})
    EXPECT_NE(text.find(line + "\n"), std::string::npos) << line << "\nin\n" << text;
  EXPECT_EQ(text.find("growth"), std::string::npos) << "a family without a sample";
  EXPECT_EQ(text.back(), '\n');
}

TEST(MetricsText, NamesCannotEndALine) {
  JobMetrics job;
  ProcessMetrics process;
  process.program = "a\"} 1\nevil{x=\"\\";
  job.processes.push_back(process);
  const std::string text = metrics_text(job);
  EXPECT_EQ(text.find("\nevil"), std::string::npos);
  EXPECT_NE(text.find(R"(program="a\"} 1?evil{x=\"\\"})"), std::string::npos) << text;
}

} // namespace
} // namespace memtrace::watch
