// Purpose: headers of tar files: what is written is read again, and what is refused.
#include "analyzer/archive/tar_header.h"

#include <gtest/gtest.h>

namespace memtrace::archive {
namespace {

std::string outcome(const std::string& block) {
  std::string expected;
  const auto member = parse_tar_header(block, expected);
  return member ? member->name + " " + std::to_string(member->bytes) : expected;
}

TEST(TarHeader, IsReadAsItWasWritten) {
  EXPECT_EQ(outcome(tar_header("a", 0)), "a 0");
  EXPECT_EQ(outcome(tar_header("n1-7-18ea.memtrace", kLargestTarMember)), "n1-7-18ea.memtrace 8589934591");
  EXPECT_EQ(outcome(tar_header(std::string(kLongestTarName, 'x'), 513)),
            std::string(kLongestTarName, 'x') + " 513");
  EXPECT_EQ(tar_header("a", 5), tar_header("a", 5));
  EXPECT_EQ(tar_padding(0), 0u);
  EXPECT_EQ(tar_padding(1), 511u);
  EXPECT_EQ(tar_padding(512), 0u);
}

TEST(TarHeader, EachChangedByteIsFound) {
  const std::string block = tar_header("t.memtrace", 1234);
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (i == 155) continue; // ends the sum, and has no meaning
    std::string changed = block;
    changed[i] ^= 1;
    EXPECT_TRUE(outcome(changed).starts_with("expected")) << i;
  }
}

TEST(TarHeader, OnlyPlainNames) {
  for (const char* const name : {"", ".", "..", ".hidden", "a/b", "/a", "a\nb"})
    EXPECT_TRUE(outcome(tar_header(name, 0)).starts_with("expected a plain name")) << name;
}

} // namespace
} // namespace memtrace::archive
