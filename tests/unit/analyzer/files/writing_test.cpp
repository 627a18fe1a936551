// Purpose: tests that a new file replaces an older one when it is complete.
#include "analyzer/files/writing.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <iterator>
#include <string>

#include "builder.h"

namespace memtrace::files {
namespace {

using tests::Scratch;

std::ptrdiff_t count(const std::string& directory) {
  return std::distance(std::filesystem::directory_iterator(directory), {});
}

TEST(NewFile, OfTwoTheLastToFinishHasTheName) {
  const Scratch scratch;
  const std::string path = scratch.file("packed");
  tests::write_file(path, "old");
  {
    NewFile first(path), second(path), unfinished(path);
    ASSERT_TRUE(first.write("first") && second.write("second") && unfinished.write("unfinished"));
    EXPECT_EQ(tests::read_file(path), "old") << "until one is complete";
    EXPECT_TRUE(second.finish());
    EXPECT_EQ(tests::read_file(path), "second");
    EXPECT_TRUE(first.finish());
  }
  EXPECT_EQ(tests::read_file(path), "first");
  EXPECT_EQ(count(scratch.path()), 1);
}

TEST(NewFile, OfTwoTheFirstKeepsTheName) {
  tests::Scratch scratch;
  const std::string path = scratch.file("f");
  for (const bool older : {false, true}) {
    ::unlink(path.c_str());
    if (older) tests::write_file(path, "older");
    NewFile first(path), second(path);
    EXPECT_TRUE(first.write("first") && second.write("second"));
    EXPECT_TRUE(first.finish_as_first());
    EXPECT_FALSE(second.finish_as_first());
    EXPECT_EQ(errno, EEXIST);
    EXPECT_EQ(tests::read_file(path), "first");
    EXPECT_EQ(names_in(scratch.path()), std::vector<std::string>{"f"});
  }
}

TEST(NewFile, DoesNotReplaceAFolder) {
  const Scratch scratch;
  ASSERT_TRUE(std::filesystem::create_directory(scratch.file("folder")));
  NewFile file(scratch.file("folder"));
  EXPECT_TRUE(file.write("new"));
  EXPECT_FALSE(file.finish());
  EXPECT_EQ(errno, EISDIR);
  EXPECT_EQ(count(scratch.path()), 1);
}

TEST(NewFile, ReplacesAFile) {
  const Scratch scratch;
  const std::string path = scratch.file("evidence");
  tests::write_file(path, "old");
  EXPECT_TRUE(replace(path, "new"));
  EXPECT_EQ(tests::read_file(path), "new");
}

} // namespace
} // namespace memtrace::files
