// Purpose: a line for standard error reaches no file that took its number later.
#include "preload/os/standard_error.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "child.h"

namespace memtrace::record {
namespace {

bool say(const char* text) {
  return os::say(text, std::char_traits<char>::length(text));
}

TEST(StandardError, IsThatOfTheStart) {
  const tests::Scratch scratch;
  tests::in_child([&] {
    const std::string first = scratch.file("first"), second = scratch.file("second");
    const int before = dup(2), one = open(first.c_str(), O_CREAT | O_WRONLY, 0600),
              other = open(second.c_str(), O_CREAT | O_WRONLY, 0600);
    dup2(one, 2);
    os::remember_stderr();
    const bool said = say("a line\n");
    dup2(other, 2); // the program closed 2, and its own file got the number
    const bool said_to_other = say("another line\n");
    const bool said_again = say("another line\n");
    dup2(before, 2);
    EXPECT_TRUE(said);
    EXPECT_EQ(std::filesystem::file_size(first), 7u);
    EXPECT_FALSE(said_to_other || said_again);
    EXPECT_EQ(std::filesystem::file_size(second), 0u);
  });
}

} // namespace
} // namespace memtrace::record
