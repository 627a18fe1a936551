// Purpose: what a watcher wrote is read as it was, and what is damaged is passed over.
#include "analyzer/evidence/watched_ends.h"

#include <gtest/gtest.h>

#include "builder.h"

namespace memtrace::evidence {
namespace {

using tests::Scratch;

End killed() {
  End end;
  end.host = "node \"1\"";
  end.pid = 4242;
  end.trace = "node-1-4242-18ea1cccb39519e6";
  end.signal = true;
  end.code = 9;
  end.unix = 1700000000.25;
  end.seen = "pidfd";
  return end;
}

TEST(Ends, AsTheyWereWritten) {
  const Scratch scratch;
  End exited = killed();
  exited.trace = "";
  exited.signal = false;
  exited.code = 137;
  exited.dumped = true;
  exited.seen = "wait";
  tests::write_file(scratch.file("node-1-100-18.ends"), line_of(killed()) + line_of(exited));
  tests::write_file(scratch.file("node-1-100-18.memtrace"), "not one");
  const auto ends = read_ends(scratch.path());
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0].host, "node \"1\"");
  EXPECT_EQ(ends[0].pid, 4242u);
  EXPECT_TRUE(ends[0].signal);
  EXPECT_EQ(ends[0].code, 9);
  EXPECT_FALSE(ends[0].dumped);
  EXPECT_DOUBLE_EQ(ends[0].unix, 1700000000.25);
  EXPECT_EQ(ends[0].seen, "pidfd");
  EXPECT_FALSE(ends[1].signal);
  EXPECT_EQ(ends[1].code, 137);
  EXPECT_TRUE(ends[1].dumped);
  EXPECT_EQ(end_of(ends, "node-1-4242-18ea1cccb39519e6"), &ends[0]);
  EXPECT_EQ(end_of(ends, "node-1-4242-18ea1cccb39519e7"), nullptr);
  EXPECT_EQ(end_of(ends, ""), nullptr) << "one without a trace is nobody's";
}

// A number that no integer holds: to convert it is undefined.
TEST(Ends, NumbersThatAreNoIntegers) {
  const Scratch scratch;
  tests::write_file(
      scratch.file("a.ends"),
      R"({"schema": "memtrace.ends/1", "how": "exit", "pid": -1e300, "code": 1e300, "unix": 1e300})");
  const auto ends = read_ends(scratch.path());
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].pid, 0u);
  EXPECT_EQ(ends[0].code, 0);
}

TEST(Ends, DamageIsPassedOver) {
  const Scratch scratch;
  EXPECT_TRUE(read_ends(scratch.file("nowhere")).empty());
  const std::string line = line_of(killed());
  tests::write_file(scratch.file("a.ends"),
                    "{}\n[1]\n\"x\"\n" + std::string(1000, '[') +
                        "\n{\"schema\": \"memtrace.ends/1\", \"how\": 5, \"code\": {}}\n" + line +
                        line.substr(0, line.size() / 2));
  tests::write_file(scratch.file("b.ends"), std::string("\0\n\xff\n", 4) + line);
  const auto ends = read_ends(scratch.path());
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[1].pid, 4242u);
}

} // namespace
} // namespace memtrace::evidence
