// Purpose: what the variables may say, and what is told about those that say something else.
#include "preload/state/read_settings.h"
#include "preload/format/recorded_programs.h"
#include "preload/format/setting_values.h"
#include "preload/state/settings.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "child.h"

namespace memtrace::record {
namespace {

using format::matches;
using format::matches_any;
using format::parse_size;
using tests::in_child;
using tests::Scratch;

std::uint64_t size_of(const char* text) {
  std::uint64_t bytes = 7;
  EXPECT_TRUE(parse_size(text, &bytes)) << text;
  return bytes;
}

bool refused(const char* text) {
  std::uint64_t bytes = 7;
  const bool taken = parse_size(text, &bytes);
  EXPECT_EQ(bytes, 7u) << "a refused size may not be written: " << text;
  return !taken;
}

TEST(ParseSize, Units) {
  EXPECT_EQ(size_of("0"), 0u);
  EXPECT_EQ(size_of("4096"), 4096u);
  EXPECT_EQ(size_of("0004"), 4u);
  EXPECT_EQ(size_of("512K"), 512u << 10);
  EXPECT_EQ(size_of("32m"), 32u << 20);
  EXPECT_EQ(size_of("4G"), std::uint64_t{4} << 30);
  EXPECT_EQ(size_of("17179869183G"), std::uint64_t{17179869183} << 30);
}

TEST(ParseSize, RefusesOverflow) {
  EXPECT_TRUE(refused("17179869184G"));
  EXPECT_TRUE(refused("18014398509481984K"));
  EXPECT_TRUE(refused("18446744073709551616"));
  EXPECT_TRUE(refused("184467440737095516160"));
  EXPECT_TRUE(refused("99999999999999999999999999"));
}

TEST(ParseSize, RefusesRubbish) {
  for (const char* text : {"", "K", "-1", "+1", " 1", "1 ", "1KB", "1KK", "1T", "0x10", "1.5G", "one", "1,024"})
    EXPECT_TRUE(refused(text)) << text;
}

bool glob(const char* pattern, const char* name) {
  return matches(pattern, std::strlen(pattern), name);
}

TEST(Matches, WholeName) {
  EXPECT_TRUE(glob("ld", "ld"));
  EXPECT_FALSE(glob("ld", "lld"));
  EXPECT_FALSE(glob("ld", "ld.gold"));
  EXPECT_FALSE(glob("", "ld"));
}

TEST(Matches, Stars) {
  EXPECT_TRUE(glob("ld.*", "ld.gold"));
  EXPECT_FALSE(glob("ld.*", "ld"));
  EXPECT_TRUE(glob("*", ""));
  EXPECT_TRUE(glob("*g++*", "x86_64-linux-gnu-g++-12"));
  EXPECT_TRUE(glob("*g++*", "g++"));
  EXPECT_FALSE(glob("*g++*", "gcc"));
  EXPECT_TRUE(glob("a*b*c", "aXbYbZc"));
  EXPECT_FALSE(glob("a*b*c", "aXbYbZ"));
  EXPECT_TRUE(glob("**", "x"));
}

TEST(Matches, QuestionMarks) {
  EXPECT_TRUE(glob("python3.?", "python3.9"));
  EXPECT_FALSE(glob("python3.?", "python3."));
  EXPECT_FALSE(glob("python3.?", "python3.11"));
  EXPECT_TRUE(glob("?*", "a"));
  EXPECT_FALSE(glob("?*", ""));
}

TEST(MatchesAny, Lists) {
  EXPECT_TRUE(matches_any("cc1,as,ld", "as"));
  EXPECT_TRUE(matches_any("cc1,as,ld", "ld"));
  EXPECT_FALSE(matches_any("cc1,as,ld", "cc"));
  EXPECT_FALSE(matches_any("cc1,as,ld", "cc1,as"));
  EXPECT_FALSE(matches_any("", "x"));
  EXPECT_FALSE(matches_any(",,", ""));
  EXPECT_TRUE(matches_any(",,git-*", "git-lfs"));
  EXPECT_TRUE(matches_any("x,", "x"));
}

// What read_settings says on stderr.
std::string said(const Scratch& scratch, const char* exe) {
  const std::string path = scratch.file("said");
  const int before = ::dup(2);
  const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  ::dup2(file, 2);
  ::close(file);
  read_settings(exe);
  ::dup2(before, 2);
  ::close(before);
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void clear_variables() {
  for (const char* name :
       {"MEMTRACE", "MEMTRACE_EXACT_MIN", "MEMTRACE_SAMPLE", "MEMTRACE_MAX_TRACE", "MEMTRACE_MAX_NODE",
        "MEMTRACE_MIN_PEAK", "MEMTRACE_STACKS", "MEMTRACE_PHASES", "MEMTRACE_CUPTI", "MEMTRACE_RANKS",
        "MEMTRACE_QUIET", "MEMTRACE_ONLY", "MEMTRACE_SKIP"})
    ::unsetenv(name);
}

TEST(ReadSettings, DefaultsAreTheContracts) {
  const Scratch scratch;
  in_child([&] {
    clear_variables();
    EXPECT_EQ(said(scratch, "python3"), "");
    EXPECT_EQ(settings.exact_min, 4096u);
    EXPECT_EQ(settings.sample, 512u << 10);
    EXPECT_EQ(settings.max_trace, 256u << 20);
    EXPECT_EQ(settings.max_node, std::uint64_t{4} << 30);
    EXPECT_EQ(settings.min_peak, 32u << 20);
    EXPECT_EQ(settings.stacks, Stacks::both);
    EXPECT_EQ(settings.phases, PhaseSource::automatic);
    EXPECT_TRUE(settings.active);
    EXPECT_FALSE(settings.quiet);
  });
}

TEST(ReadSettings, TakesWhatIsSet) {
  const Scratch scratch;
  in_child([&] {
    clear_variables();
    ::setenv("MEMTRACE_EXACT_MIN", "64K", 1);
    ::setenv("MEMTRACE_STACKS", "python", 1);
    ::setenv("MEMTRACE_PHASES", "marks", 1);
    ::setenv("MEMTRACE_QUIET", "1", 1);
    ::setenv("MEMTRACE_MIN_PEAK", "", 1);
    EXPECT_EQ(said(scratch, "python3"), "");
    EXPECT_EQ(settings.exact_min, 64u << 10);
    EXPECT_EQ(settings.stacks, Stacks::python);
    EXPECT_EQ(settings.phases, PhaseSource::marks);
    EXPECT_TRUE(settings.quiet);
    EXPECT_EQ(settings.min_peak, 32u << 20) << "empty is unset";
  });
}

TEST(ReadSettings, NamesWhatItCannotRead) {
  const Scratch scratch;
  in_child([&] {
    clear_variables();
    ::setenv("MEMTRACE_STACKS", "Python", 1);
    ::setenv("MEMTRACE_MAX_TRACE", "lots", 1);
    ::setenv("MEMTRACE_CUPTI", "yes", 1);
    const std::string told = said(scratch, "python3");
    EXPECT_NE(told.find("MEMTRACE_STACKS=Python"), std::string::npos) << told;
    EXPECT_NE(told.find("python, native, both or none"), std::string::npos) << told;
    EXPECT_NE(told.find("MEMTRACE_MAX_TRACE=lots"), std::string::npos) << told;
    EXPECT_NE(told.find("MEMTRACE_CUPTI=yes cannot be read (expected auto, on or off)"), std::string::npos)
        << told;
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 3) << told;
    EXPECT_EQ(settings.stacks, Stacks::both);
    EXPECT_EQ(settings.max_trace, 256u << 20);
  });
}

TEST(ReadSettings, WhoIsTraced) {
  const auto active = [](const char* exe) {
    read_settings(exe);
    return settings.active;
  };
  in_child([&] {
    clear_variables();
    EXPECT_TRUE(active("python3.11"));
    for (const char* traced : {"torchrun", "save-as", "gold-miner", "cmaker", "lldb", "assess", "git2rdf"})
      EXPECT_TRUE(active(traced)) << traced;
    for (const char* skipped : {"cc1plus",
                                "x86_64-linux-gnu-g++-12",
                                "x86_64-linux-gnu-as",
                                "x86_64-conda-linux-gnu-ld",
                                "ld.gold",
                                "x86_64-linux-gnu-ld.bfd",
                                "aarch64-linux-gnu-ld.gold",
                                "ld.lld-14",
                                "lld",
                                "lld-14",
                                "mold",
                                "collect2",
                                "aarch64-none-linux-gnu-c++",
                                "clang++-14",
                                "gfortran-12",
                                "ninja",
                                "ninja-build",
                                "cmake",
                                "nvcc",
                                "cicc",
                                "cudafe++",
                                "ptxas",
                                "fatbinary",
                                "nvlink",
                                "bash",
                                "git"})
      EXPECT_FALSE(active(skipped)) << skipped;
    ::setenv("MEMTRACE_SKIP", "", 1);
    EXPECT_TRUE(active("bash"));
    ::setenv("MEMTRACE_ONLY", "python*", 1);
    EXPECT_FALSE(active("bash"));
    EXPECT_TRUE(active("python3"));
    ::setenv("MEMTRACE_SKIP", "python3", 1);
    EXPECT_FALSE(active("python3"));
    EXPECT_TRUE(active("python3.11"));
    ::setenv("MEMTRACE", "0", 1);
    EXPECT_FALSE(active("python3.11"));
    ::setenv("MEMTRACE", "1", 1);
    EXPECT_TRUE(active("python3.11"));
  });
}

} // namespace
} // namespace memtrace::record
