// Purpose: a copy of a trace is made in parts, is a prefix at each time, and leaves no memory to a forked
// child.
#include "preload/copies/copied_trace.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "child.h"
#include "preload/os/mappings.h"
#include "preload/os/recorder_mappings.h"

namespace memtrace::record {
namespace {

using tests::in_child;
using tests::Scratch;

unsigned pieces_to_copy = 0; // that may still be copied

bool some_more_pieces() {
  return pieces_to_copy != 0 && pieces_to_copy-- != 0;
}
bool without_end() {
  return true;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string marked_text(std::size_t bytes, char first) {
  std::string out(bytes, first);
  for (std::size_t i = 0; i < bytes; i += 977) out[i] = static_cast<char>('a' + i % 23);
  return out;
}

// Returns the content of a file in STEM.rest.
std::string part_of_rest(const std::string& rest, const std::string& suffix) {
  const std::string all = content_of(rest);
  format::RestHeader header{};
  if (all.size() < sizeof header) return "(no header)";
  std::memcpy(&header, all.data(), sizeof header);
  for (std::uint32_t i = 0; i < header.parts; ++i) {
    if (suffix != header.part[i].suffix) continue;
    std::string out = all.substr(header.part[i].offset, header.part[i].bytes);
    out.resize(header.part[i].bytes);
    return out;
  }
  return "(no part)";
}

TEST(CopiedTrace, IsAPrefixAfterEachPass) {
  const Scratch scratch;
  const std::string from = scratch.file("t.memtrace"), to = scratch.file("copy.memtrace");
  const std::string text = marked_text(10 * kCopyPiece + 77, 'x');
  put_file(from, text);
  in_child([&] {
    std::uint64_t done = 0;
    unsigned passes = 0;
    for (long result = kStopped; result == kStopped; ++passes) {
      ASSERT_LT(passes, 9u);
      pieces_to_copy = 3;
      result = copy_appended(from.c_str(), to.c_str(), &done, &some_more_pieces, true);
      EXPECT_LE(result, kStopped);
      EXPECT_LE(done, (passes + 1) * 3 * kCopyPiece);
      EXPECT_EQ(content_of(to), text.substr(0, done));
    }
    EXPECT_EQ(passes, 4u);
    EXPECT_EQ(content_of(to), text);
  });
}

TEST(CopiedTrace, OtherFilesAreContinued) {
  const Scratch scratch;
  const std::string local = scratch.file("t"), shared = scratch.file("copy");
  const std::string window = marked_text(5 * kCopyPiece, 'w'), rows = marked_text(kCopyPiece + 3, 'c');
  const std::string rings = std::string(3 * kCopyPiece, '\0') + "end";
  put_file(local + ".window-1", window);
  put_file(local + ".coarse", rows);
  put_file(local + ".rings", rings);
  in_child([&] {
    RestProgress progress;
    unsigned passes = 0;
    for (long result = kStopped; result == kStopped; ++passes) {
      ASSERT_LT(passes, 20u);
      EXPECT_EQ(part_of_rest(shared + ".rest", ".coarse").substr(0, 3), "(no") << "the header is written last";
      pieces_to_copy = 2;
      result = copy_rest(local.c_str(), shared.c_str(), &progress, &some_more_pieces);
      EXPECT_LE(result, kStopped);
    }
    EXPECT_GT(passes, 4u);
    EXPECT_EQ(part_of_rest(shared + ".rest", ".window-1"), window);
    EXPECT_EQ(part_of_rest(shared + ".rest", ".coarse"), rows);
    EXPECT_EQ(part_of_rest(shared + ".rest", ".rings"), rings);
  });
}

TEST(CopiedTrace, OtherFilesBeginAgainIfTheCopyVanishes) {
  const Scratch scratch;
  const std::string local = scratch.file("t"), shared = scratch.file("copy");
  const std::string window = marked_text(5 * kCopyPiece, 'w');
  put_file(local + ".window-0", window);
  in_child([&] {
    RestProgress progress;
    pieces_to_copy = 2;
    EXPECT_EQ(copy_rest(local.c_str(), shared.c_str(), &progress, &some_more_pieces), kStopped);
    std::filesystem::remove(shared + ".rest");
    EXPECT_EQ(copy_rest(local.c_str(), shared.c_str(), &progress, &without_end), -ENOENT);
    EXPECT_FALSE(std::filesystem::exists(shared + ".rest")) << "its first bytes would be missing";
    EXPECT_EQ(copy_rest(local.c_str(), shared.c_str(), &progress, &without_end), 0);
    EXPECT_EQ(part_of_rest(shared + ".rest", ".window-0"), window);
  });
}

TEST(CopiedTrace, AnotherProcessWasFaster) {
  const Scratch scratch;
  const std::string local = scratch.file("t"), shared = scratch.file("copy");
  put_file(local + ".window-0", marked_text(5 * kCopyPiece, 'w'));
  in_child([&] {
    RestProgress progress;
    pieces_to_copy = 2;
    EXPECT_EQ(copy_rest(local.c_str(), shared.c_str(), &progress, &some_more_pieces), kStopped);
    put_file(local + ".copied", "");
    EXPECT_EQ(copy_rest(local.c_str(), shared.c_str(), &progress, &without_end), -EEXIST);
    EXPECT_EQ(part_of_rest(shared + ".rest", ".window-0"), "(no part)");
  });
}

// Returns the address of the memory that pieces_to_copy are read into.
std::uint64_t buffer_at() {
  for (const NotedRange& range : own_ranges())
    if (range.bytes == kCopyPiece) return range.start;
  return 0;
}

TEST(CopiedTrace, AForkedChildDoesNotHoldTheBuffer) {
  const Scratch scratch;
  put_file(scratch.file("t.memtrace"), marked_text(2 * kCopyPiece, 'x'));
  in_child([&] {
    std::uint64_t done = 0;
    const auto copy = [&](const char* name) {
      done = 0;
      return copy_appended(scratch.file("t.memtrace").c_str(), scratch.file(name).c_str(), &done, &without_end);
    };
    ASSERT_EQ(copy("first"), 0);
    const std::uint64_t at = buffer_at();
    ASSERT_NE(at, 0u);
    const pid_t child = ::fork();
    if (child == 0) {
      const bool is_mapped = os::is_readable(reinterpret_cast<const void*>(at));
      forget_copy_buffer();
      ::_exit(is_mapped ? 1 : copy("second") != 0 ? 2 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(content_of(scratch.file("second")), content_of(scratch.file("t.memtrace")));
  });
}

} // namespace
} // namespace memtrace::record
