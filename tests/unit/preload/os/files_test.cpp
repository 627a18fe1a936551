// Purpose: which files the recorder opens and which directories it makes, where another user chose what has the
// name.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "child.h"
#include "preload/bounded/fixed_string.h"
#include "preload/job/job_directory.h"
#include "preload/os/files.h"
#include "preload/state/messages.h"
#include "preload/state/settings.h"

namespace memtrace::record {
namespace {

using tests::in_child;
using tests::Scratch;

constexpr os::For kUses[] = {os::For::reading, os::For::appending, os::For::changing};
constexpr uid_t kOther = 65534;

long opened(const std::string& path, os::For use) {
  const long fd = os::open_own(path.c_str(), use);
  if (fd < 0) return fd;
  os::close(fd);
  return 0;
}

std::string file_in(const Scratch& scratch) {
  std::string path = scratch.file("file");
  std::ofstream(path) << "text";
  return path;
}

TEST(OpenOwn, AFileOfThisUser) {
  const Scratch scratch;
  const std::string path = file_in(scratch);
  for (const os::For use : kUses) EXPECT_EQ(opened(path, use), 0);
  EXPECT_EQ(opened(scratch.file("none"), os::For::reading), -ENOENT);
}

TEST(OpenOwn, NoLink) {
  const Scratch scratch;
  ASSERT_EQ(::symlink(file_in(scratch).c_str(), scratch.file("link").c_str()), 0);
  for (const os::For use : kUses) EXPECT_EQ(opened(scratch.file("link"), use), -ELOOP);
}

TEST(OpenOwn, NoSecondName) {
  const Scratch scratch;
  const std::string path = file_in(scratch);
  ASSERT_EQ(::link(path.c_str(), scratch.file("second").c_str()), 0);
  for (const os::For use : kUses) EXPECT_EQ(opened(scratch.file("second"), use), os::kNotOurs);
}

TEST(OpenOwn, NothingButRegularFiles) {
  const Scratch scratch;
  ASSERT_EQ(::mkfifo(scratch.file("fifo").c_str(), 0666), 0);
  sockaddr_un address{AF_UNIX, {}};
  std::strncpy(address.sun_path, scratch.file("socket").c_str(), sizeof address.sun_path - 1);
  const int listens = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listens, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  for (const os::For use : kUses) {
    for (const std::string& path : {scratch.file("fifo"), scratch.file("socket"), std::string("/dev/zero")})
      EXPECT_EQ(opened(path, use), -ENXIO) << path;
    EXPECT_LT(opened(scratch.path(), use), 0);
  }
  EXPECT_EQ(os::open_kernel(scratch.file("fifo").c_str()), -ENXIO);
  ::close(listens);
}

TEST(OpenOwn, NoFileOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root: no file of another user can be made";
  const Scratch scratch;
  const std::string path = file_in(scratch);
  ASSERT_EQ(::chown(path.c_str(), kOther, kOther), 0);
  for (const os::For use : kUses) EXPECT_EQ(opened(path, use), os::kNotOurs);
}

// On NFS with root_squash a file that root makes is another user's. Here the process changes its user instead.
TEST(OpenOwn, FilesOfTheUserAsWhomThisProcessCreated) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root: the user cannot be changed";
  const Scratch scratch;
  in_child([&] {
    ASSERT_EQ(::chmod(scratch.path().c_str(), 0777), 0);
    ASSERT_EQ(::seteuid(kOther), 0);
    os::close(os::create(scratch.file("made").c_str()));
    ASSERT_EQ(::seteuid(0), 0);
    EXPECT_EQ(opened(scratch.file("made"), os::For::appending), 0);
    const std::string path = file_in(scratch);
    ASSERT_EQ(::chown(path.c_str(), 1, 1), 0);
    EXPECT_EQ(opened(path, os::For::appending), os::kNotOurs);
  });
}

unsigned mode_of(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : ~0u;
}

TEST(Directories, AreOursAloneWhereAllMayWrite) {
  const Scratch scratch;
  const mode_t before = ::umask(022);
  std::size_t there = 0;
  ASSERT_EQ(::mkdir(scratch.file("shared").c_str(), 0777), 0);
  ASSERT_EQ(::chmod(scratch.file("shared").c_str(), 01777), 0);
  ASSERT_EQ(make_directories(scratch.file("shared/a/b").c_str(), &there), 0);
  EXPECT_EQ(mode_of(scratch.file("shared/a")), 0700u);
  EXPECT_EQ(mode_of(scratch.file("shared/a/b")), 0755u);
  ::umask(002);
  ASSERT_EQ(make_directories(scratch.file("mine").c_str(), &there), 0);
  EXPECT_EQ(mode_of(scratch.file("mine")), 0775u);
  ::umask(before);
}

TEST(Directories, NoLinkThatAnotherUserPlanted) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root: no link of another user can be made";
  const Scratch scratch;
  std::size_t there = 0;
  for (const char* name : {"shared", "target"}) ASSERT_EQ(::mkdir(scratch.file(name).c_str(), 0755), 0);
  ASSERT_EQ(::symlink(scratch.file("target").c_str(), scratch.file("shared/link").c_str()), 0);
  EXPECT_EQ(make_directories(scratch.file("shared/link").c_str(), &there), 0);
  ASSERT_EQ(::chmod(scratch.file("shared").c_str(), 01777), 0);
  EXPECT_EQ(make_directories(scratch.file("shared/link").c_str(), &there), 0) << "of this user";
  ASSERT_EQ(::lchown(scratch.file("shared/link").c_str(), kOther, kOther), 0);
  const long refused = make_directories(scratch.file("shared/link/job").c_str(), &there);
  EXPECT_TRUE(refused == os::kNotOurs || refused == -EACCES) << refused; // fs.protected_symlinks
  EXPECT_EQ(::access(scratch.file("target/job").c_str(), F_OK), -1);
}

TEST(Directories, OneOfOurOwn) {
  const Scratch scratch;
  const std::string path = scratch.file("own");
  bool made = false;
  EXPECT_EQ(make_own_directory(path.c_str(), &made), 0);
  EXPECT_TRUE(made);
  EXPECT_EQ(mode_of(path), 0700u);
  EXPECT_EQ(make_own_directory(path.c_str(), &made), 0);
  EXPECT_FALSE(made);
  for (const unsigned mode : {0770u, 0707u, 01777u}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_EQ(make_own_directory(path.c_str(), &made), os::kWritableByOthers) << std::oct << mode;
  }
  ASSERT_EQ(::symlink(path.c_str(), scratch.file("link").c_str()), 0);
  EXPECT_EQ(make_own_directory(scratch.file("link").c_str(), &made), -ELOOP);
  EXPECT_EQ(make_own_directory(file_in(scratch).c_str(), &made), -ENOTDIR);
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
  ASSERT_EQ(::chown(path.c_str(), kOther, kOther), 0);
  EXPECT_EQ(make_own_directory(path.c_str(), &made), os::kNotOurs);
}

std::string shown(const char* text) {
  Line<256> line;
  return line.shown(text).text();
}

TEST(Shown, NothingSteersATerminal) {
  EXPECT_EQ(shown("a\x1b[31m\nb\x7f"), "a\\x1b[31m\\x0ab\\x7f");
  EXPECT_EQ(shown("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"),
            "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(shown("\xe2\x80\xaegpj"), "\\xe2\\x80\\xaegpj");
  EXPECT_EQ(shown("\xc2\x9b"), "\\xc2\\x9b"); // CSI in one character
  EXPECT_EQ(shown("\xff\xc3"), "\\xff\\xc3");
}

} // namespace
} // namespace memtrace::record
