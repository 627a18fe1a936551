// Purpose: tests what is said about the members of a packed file before it is written.
#include "analyzer/pack/job/job_members.h"

#include <gtest/gtest.h>

#include <string>

#include "folder.h"

namespace memtrace::report {
namespace {

TEST(JobMembers, TheNamesOfNativeCodeCountAsContent) {
  const tests::Scratch scratch;
  const auto file = [&](const std::string& name, std::size_t bytes) {
    tests::write_file(scratch.file(name), std::string(bytes, 'x'));
    return scratch.file(name);
  };
  const std::size_t large = 4 << 20, most = 3 << 20;
  const std::vector<PackMember> members = {
      {"a.memtrace", file("a.memtrace", 1000), MemberKind::segments, 0},
      {"a.window-0", file("a.window-0", 500), MemberKind::segments, 0},
      {"a.evidence", "", MemberKind::evidence, 0},
      {"a.symbols", "", MemberKind::symbols, 0},
      {"b.rings", file("b.rings", 70), MemberKind::rings, 1},
      {"b.memtrace", file("b.memtrace", large), MemberKind::segments, 1},
      {"b.symbols", "", MemberKind::symbols, 1},
      {"c.memtrace", scratch.file("none"), MemberKind::segments, 2},
      {"c.symbols", "", MemberKind::symbols, 2},
  };
  EXPECT_EQ(content_bytes(members), 1500u + 3 * 1500 + 70 + large + most);
}

} // namespace
} // namespace memtrace::report
