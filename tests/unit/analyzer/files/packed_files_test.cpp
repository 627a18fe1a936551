// Purpose: files inside packed files open like files of a directory.
#include "analyzer/files/packed_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/files/reading.h"

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
}

} // namespace
} // namespace memtrace::files
