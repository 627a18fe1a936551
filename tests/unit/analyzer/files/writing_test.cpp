// Purpose: tests that a new file replaces or keeps a file that has its name.
#include "analyzer/files/writing.h"

#include <gtest/gtest.h>
#include <unistd.h>

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

TEST(NewFile, OfTwoThatKeepAnExistingFileTheFirstHasTheName) {
  const Scratch scratch;
  const std::string path = scratch.file("packed");
  {
    NewFile first(path, Existing::kept), second(path, Existing::kept);
    ASSERT_TRUE(first.write("first") && second.write("second"));
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_TRUE(first.finish());
    EXPECT_FALSE(second.finish());
    EXPECT_EQ(errno, EEXIST);
  }
  EXPECT_EQ(tests::read_file(path), "first");
  EXPECT_EQ(count(scratch.path()), 1);
}

TEST(NewFile, IsNotOpenIfTheNameIsTaken) {
  const Scratch scratch;
  const std::string path = scratch.file("packed");
  tests::write_file(path, "old");
  EXPECT_FALSE(NewFile(path, Existing::kept).is_open());
  EXPECT_EQ(errno, EEXIST);
  ASSERT_EQ(::symlink("nowhere", scratch.file("link").c_str()), 0);
  EXPECT_FALSE(NewFile(scratch.file("link"), Existing::kept).is_open());
  EXPECT_EQ(errno, EEXIST);
  EXPECT_FALSE(NewFile(scratch.path(), Existing::kept).is_open());
  EXPECT_EQ(errno, EISDIR);
  EXPECT_EQ(tests::read_file(path), "old");
  EXPECT_EQ(count(scratch.path()), 2);
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
