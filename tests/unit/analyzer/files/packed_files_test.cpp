// Purpose: files inside packed files open like files of a directory.
#include "analyzer/files/packed_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/files/reading.h"
#include "builder.h"

namespace memtrace::files {
namespace {

TEST(PackedFilesOfACommand, OpenLikeFilesOfADirectory) {
  PackedFiles& packed = PackedFiles::of_command();
  packed.add("some/run.zst");
  packed.add("some/run.zst", "b");
  const std::string sparse = "begin" + std::string(1 << 20, '\0') + "end";
  for (std::size_t at = 0; at < sparse.size(); at += 100'000)
    EXPECT_TRUE(packed.append(sparse.substr(at, 100'000)));
  packed.add("some/run.zst", "a");
  EXPECT_TRUE(packed.append("content"));
  packed.add("some/run.zst", "empty");
  EXPECT_EQ(names_in("some/run.zst"), (std::vector<std::string>{"a", "b", "empty"}));
  EXPECT_EQ(read_found("some/run.zst/a", 100), "content");
  EXPECT_EQ(read_found("some/run.zst/b", 2 << 20), sparse);
  EXPECT_EQ(read_found("some/run.zst/empty", 100), "");
  EXPECT_EQ(read_found("some/run.zst/b", 100), std::nullopt);
  std::string why;
  EXPECT_FALSE(read("some/run.zst/c", Origin::found, 100, why));
  EXPECT_EQ(why, "No such file or directory");
  EXPECT_TRUE(packed.holds("some/run.zst/c"));
  EXPECT_FALSE(packed.holds("some/run.zst"));
  const int fd = open_to_read("some/run.zst/b", Origin::named, why);
  struct stat status {};
  ASSERT_EQ(::fstat(fd, &status), 0);
  EXPECT_LT(status.st_blocks * 512, 1 << 18) << "zeros take no room";
  ::close(fd);
  tests::Scratch scratch;
  const std::string copy = scratch.file("b");
  EXPECT_TRUE(packed.write("some/run.zst/b", copy));
  EXPECT_EQ(tests::read_file(copy), sparse);
  EXPECT_TRUE(packed.equals("some/run.zst/b", copy));
  EXPECT_FALSE(packed.write("some/run.zst/b", copy));
  EXPECT_EQ(errno, EEXIST);
  for (const std::string& other : {sparse + "x", sparse.substr(1), sparse.substr(0, sparse.size() - 1) + "D"}) {
    tests::write_file(copy, other);
    EXPECT_FALSE(packed.equals("some/run.zst/b", copy));
  }
  EXPECT_FALSE(packed.equals("some/run.zst/b", scratch.file("none")));
  EXPECT_FALSE(packed.write("some/run.zst/c", scratch.file("c")));
  EXPECT_EQ(names_in(scratch.path()), std::vector<std::string>{"b"});
}

} // namespace
} // namespace memtrace::files
