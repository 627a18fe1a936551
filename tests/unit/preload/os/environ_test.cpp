// Purpose: the environment, read and added to without libc.
#include "preload/os/environ.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "child.h"

namespace memtrace::record {
namespace {

using tests::in_child;

TEST(Environment, FindsWholeNames) {
  in_child([] {
    ::setenv("MEMTRACE_A", "1", 1);
    ::setenv("MEMTRACE_EMPTY", "", 1);
    ::unsetenv("MEMTRACE_");
    EXPECT_STREQ(environment("MEMTRACE_A"), "1");
    EXPECT_EQ(environment("MEMTRACE_"), nullptr);
    EXPECT_EQ(environment("MEMTRACE_AB"), nullptr);
    EXPECT_STREQ(environment("MEMTRACE_EMPTY"), "");
    EXPECT_EQ(environment_text("MEMTRACE_EMPTY"), nullptr);
    EXPECT_STREQ(environment_text("MEMTRACE_A"), "1");
    EXPECT_EQ(environment_text("MEMTRACE_AB"), nullptr);
  });
}

TEST(Environment, NoEnvironmentAtAll) {
  in_child([] {
    environ = nullptr;
    EXPECT_EQ(environment("PATH"), nullptr);
    EXPECT_TRUE(add_to_environment("MEMTRACE_B=2"));
    EXPECT_STREQ(::getenv("MEMTRACE_B"), "2");
  });
}

TEST(Environment, AddsAndReplaces) {
  in_child([] {
    ::unsetenv("MEMTRACE_B");
    ::setenv("MEMTRACE_BB", "other", 1);
    std::size_t before = 0, after = 0;
    while (environ[before] != nullptr) ++before;
    EXPECT_TRUE(add_to_environment("MEMTRACE_B=a=b"));
    EXPECT_STREQ(::getenv("MEMTRACE_B"), "a=b");
    EXPECT_TRUE(add_to_environment("MEMTRACE_B=2"));
    EXPECT_STREQ(::getenv("MEMTRACE_B"), "2");
    EXPECT_STREQ(::getenv("MEMTRACE_BB"), "other");
    while (environ[after] != nullptr) ++after;
    EXPECT_EQ(after, before + 1);
  });
}

TEST(Environment, LibcGoesOnWithIt) {
  in_child([] {
    EXPECT_TRUE(add_to_environment("MEMTRACE_B=2"));
    ::setenv("MEMTRACE_C", "3", 1);
    ::setenv("MEMTRACE_B", "4", 1);
    EXPECT_STREQ(environment("MEMTRACE_C"), "3");
    EXPECT_STREQ(environment("MEMTRACE_B"), "4");
    ::unsetenv("MEMTRACE_B");
    EXPECT_EQ(environment("MEMTRACE_B"), nullptr);
  });
}

TEST(Environment, TheStartSeesTheFirstEnvironment) {
  in_child([] {
    ::setenv("MEMTRACE_JOB", "1;/here", 1);
    ::unsetenv("MEMTRACE_OUT");
    ::unsetenv("RANK");
    remember_environment();
    ::setenv("MEMTRACE_JOB", "2;/there", 1);
    ::setenv("MEMTRACE_OUT", "later", 1);
    ::setenv("RANK", "3", 1);
    EXPECT_STREQ(start_environment("MEMTRACE_JOB"), "1;/here");
    EXPECT_EQ(start_environment("MEMTRACE_OUT"), nullptr);
    EXPECT_EQ(start_environment("RANK"), nullptr);
    EXPECT_STREQ(environment("MEMTRACE_JOB"), "2;/there");
    ::clearenv();
    EXPECT_STREQ(start_environment("MEMTRACE_JOB"), "1;/here");
    EXPECT_EQ(environment("MEMTRACE_JOB"), nullptr);
  });
}

TEST(Environment, TheStartSeesTheTextsOfTheConstructor) {
  in_child([] {
    char text[] = "MEMTRACE_OUT=here";
    ::putenv(text);
    const std::string large = "MEMTRACE_JOB=1;/" + std::string(2000, 'x'); // no room for a copy
    ::putenv(const_cast<char*>(large.c_str()));
    remember_environment();
    std::fill(text, text + sizeof text - 1, '-');
    EXPECT_STREQ(start_environment("MEMTRACE_OUT"), "here");
    EXPECT_STREQ(start_environment("MEMTRACE_JOB"), large.c_str() + sizeof "MEMTRACE_JOB=" - 1);
  });
}

} // namespace
} // namespace memtrace::record
