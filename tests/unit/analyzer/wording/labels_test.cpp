// Purpose: the name under which a report shows a process.
#include "analyzer/wording/labels.h"

#include <gtest/gtest.h>

namespace memtrace::report {
namespace {

std::string shown(const std::string& exe, std::string argv) {
  for (char& c : argv)
    if (c == ' ') c = '\0';
  trace::Facts facts;
  facts.exe = exe;
  facts.argv = argv;
  return script(facts);
}

TEST(Labels, AProcessIsCalledByItsScriptOrAsItWasStarted) {
  EXPECT_EQ(shown("/usr/bin/python3.11", "python -u /home/u/train.py --epochs 3"), "train.py");
  EXPECT_EQ(shown("/usr/bin/python3.11", "/venv/bin/python -m torch.distributed.run"), "python3.11");
  EXPECT_EQ(shown("/usr/bin/redis-check-rdb", "redis-server *:6379"), "redis-server");
  EXPECT_EQ(shown("/bin/busybox", "/bin/ls -l"), "ls");
  EXPECT_EQ(shown("/usr/bin/bash", "-bash"), "bash");
  EXPECT_EQ(shown("/usr/bin/bash", ""), "bash");
}

} // namespace
} // namespace memtrace::report
