// Purpose: which files the analyzer reads and writes, and that it waits for none for ever.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "analyzer/files/reading.h"
#include "analyzer/files/writing.h"

namespace memtrace::files {
namespace {

namespace fs = std::filesystem;

constexpr int kShort = 30; // ms: no test waits for more than this where nothing comes

class OpenedFiles : public testing::Test {
 protected:
  OpenedFiles() {
    std::string name = (fs::temp_directory_path() / "memtrace-files-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    std::ofstream(file("plain")) << "text";
    fs::create_symlink(file("plain"), file("link"));
    EXPECT_EQ(::mkfifo(file("fifo").c_str(), 0600), 0);
  }
  ~OpenedFiles() override { fs::remove_all(folder_); }
  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  std::string text(const std::string& name) const {
    std::ifstream from(file(name));
    return {std::istreambuf_iterator<char>(from), {}};
  }

  // What is read, or why not.
  std::string read_as(const std::string& path, Origin origin, std::uint64_t most = kMiB) const {
    std::string why;
    const auto whole = read(path, origin, most, why, kShort);
    return whole ? *whole : "refused: " + why;
  }

  std::string folder_;
};

TEST_F(OpenedFiles, LinksAreFollowedWhereTheUserNamesThem) {
  EXPECT_EQ(read_as(file("link"), Origin::named), "text");
  EXPECT_EQ(read_as(file("link"), Origin::system), "text");
  EXPECT_EQ(read_as(file("link"), Origin::found), "refused: it is a link");
  EXPECT_EQ(read_as(file("plain"), Origin::found), "text");
  EXPECT_EQ(read_as(file("none"), Origin::found), "refused: No such file or directory");
}

TEST_F(OpenedFiles, NothingButFilesAndNamedPipes) {
  EXPECT_EQ(read_as(file("fifo"), Origin::found), "refused: expected a regular file");
  EXPECT_EQ(read_as(file("fifo"), Origin::system), "refused: expected a regular file");
  EXPECT_EQ(read_as("/dev/zero", Origin::named), "refused: expected a file or a pipe");
  EXPECT_EQ(read_as(folder_, Origin::named), "refused: expected a file, not a directory");
}

TEST_F(OpenedFiles, APipeThatNobodyWritesToEnds) {
  EXPECT_EQ(read_as(file("fifo"), Origin::named), "refused: no byte came for 0 s");
}

TEST_F(OpenedFiles, APipeWhoseWriterComesLate) {
  std::thread writer([this] {
    const int fd = ::open(file("fifo").c_str(), O_WRONLY | O_CLOEXEC);
    for (const char* piece : {"a", "b", "c"}) EXPECT_EQ(::write(fd, piece, 1), 1);
    ::close(fd);
  });
  std::string why;
  EXPECT_EQ(read(file("fifo"), Origin::named, kMiB, why).value_or(why), "abc");
  writer.join();
}

TEST_F(OpenedFiles, APipeWhoseWriterHasGone) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(::write(ends[1], "all", 3), 3);
  ::close(ends[1]);
  const std::string path = "/dev/fd/" + std::to_string(ends[0]);
  std::string why;
  const int fd = open_to_read(path, Origin::named, why, kShort);
  ASSERT_GE(fd, 0) << why;
  char got[8] = {};
  EXPECT_EQ(::pread(fd, got, sizeof got, 1), 2) << "at offsets, as a file";
  EXPECT_STREQ(got, "ll");
  ::close(fd);
  ::close(ends[0]);
}

TEST_F(OpenedFiles, APipeWhoseWriterStops) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(::write(ends[1], "some", 4), 4);
  EXPECT_EQ(read_as("/dev/fd/" + std::to_string(ends[0]), Origin::named), "refused: no byte came for 0 s");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(OpenedFiles, Bounds) {
  EXPECT_EQ(read_as(file("plain"), Origin::found, 4), "text");
  EXPECT_EQ(read_as(file("plain"), Origin::found, 3), "refused: has more than 3 bytes");
  std::ofstream(file("hole")) << "x";
  fs::resize_file(file("hole"), std::uintmax_t{1} << 40);
  EXPECT_EQ(read_as(file("hole"), Origin::found), "refused: has more than 1 MiB");
  EXPECT_NE(read_system("/proc/self/status"), std::nullopt) << "a file whose size is 0 and that has bytes";
}

TEST_F(OpenedFiles, WhatIsReplacedIsNotWrittenTo) {
  for (const char* name : {"link", "fifo", "new"}) {
    EXPECT_TRUE(replace(file(name), "fresh")) << name;
    EXPECT_EQ(text(name), "fresh") << name;
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(file(name)))) << name;
  }
  EXPECT_EQ(text("plain"), "text");
}

TEST_F(OpenedFiles, TheNameOfTheFileThatReplacesMayBeTaken) {
  fs::create_symlink(file("plain"), file("new." + std::to_string(::getpid())));
  EXPECT_TRUE(replace(file("new"), "fresh"));
  EXPECT_EQ(text("new"), "fresh");
  EXPECT_EQ(text("plain"), "text");
  fs::create_directory(file("folder"));
  EXPECT_FALSE(replace(file("folder"), "fresh"));
  const auto entries = std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  EXPECT_EQ(entries, 6) << "nothing is left behind";
}

TEST_F(OpenedFiles, Appends) {
  EXPECT_TRUE(append(file("lines"), "a\n"));
  EXPECT_TRUE(append(file("lines"), "b\n"));
  EXPECT_EQ(text("lines"), "a\nb\n");
  fs::create_hard_link(file("plain"), file("second"));
  for (const char* name : {"link", "fifo", "second"}) EXPECT_FALSE(append(file(name), "a\n")) << name;
  EXPECT_EQ(text("plain"), "text");
}

} // namespace
} // namespace memtrace::files
