// Purpose: the memory of a table keeps its bytes while it grows, and has zeros behind them.
#include "preload/trace/table_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/unit/sizes.h"

namespace memtrace::record {
namespace {

using tests::kMiB;
constexpr std::size_t kKilobyte = kMiB / 1024;

// Returns the line of /proc/self/smaps with the flags of the mapping that has `at`.
std::string flags_at(const void* at) {
  std::ifstream smaps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(at);
  bool in_mapping = false;
  for (std::string line; std::getline(smaps, line);) {
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    if (std::istringstream(line) >> std::hex >> begin >> dash >> end && dash == '-')
      in_mapping = begin <= wanted && wanted < end;
    if (in_mapping && line.starts_with("VmFlags:")) return line + " ";
  }
  return "";
}

const bool has_huge_pages = std::filesystem::exists("/sys/kernel/mm/transparent_hugepage");

void grow(std::size_t first, std::size_t most, std::size_t ends_at) {
  std::size_t bytes = first;
  auto* words = static_cast<std::uint64_t*>(map_table(bytes));
  ASSERT_NE(words, nullptr);
  std::size_t written = 0;
  for (; bytes <= most; bytes *= 2) {
    for (; written < bytes / 8; ++written) {
      ASSERT_EQ(words[written], 0u) << written << " of " << bytes;
      words[written] = written * 3 + 1;
    }
    const std::string flags = flags_at(words);
    EXPECT_NE(flags.find(" dc "), std::string::npos) << flags << bytes; // not for a forked child
    const bool is_huge = flags.find(" hg ") != std::string::npos;
    EXPECT_EQ(is_huge, has_huge_pages && bytes >= kMiB) << flags << bytes;
    words = static_cast<std::uint64_t*>(extend_table(words, bytes, bytes * 2));
    ASSERT_NE(words, nullptr);
    for (std::size_t i = 0; i < written; ++i) ASSERT_EQ(words[i], i * 3 + 1) << bytes;
  }
  EXPECT_EQ(bytes, ends_at);
}

TEST(TableMemory, KeepsItsBytesWhileItGrows) {
  grow(48 * kKilobyte, 12 * kMiB, 24 * kMiB); // old blocks: 48 bytes for each slot
  grow(12 * kKilobyte, kMiB, 3 * kMiB / 2);   // young blocks
  grow(kMiB, 4 * kMiB, 8 * kMiB);             // a multiple of a huge page from the first growth on
}

TEST(TableMemory, NoMemory) {
  EXPECT_EQ(map_table(std::size_t{1} << 60), nullptr);
  auto* const small = static_cast<std::uint8_t*>(map_table(64 * kKilobyte));
  auto* const large = static_cast<std::uint8_t*>(map_table(3 * kMiB));
  small[64 * kKilobyte - 1] = large[3 * kMiB - 1] = 7;
  EXPECT_EQ(extend_table(small, 64 * kKilobyte, std::size_t{1} << 60), nullptr);
  EXPECT_EQ(extend_table(large, 3 * kMiB, std::size_t{1} << 60), nullptr);
  EXPECT_EQ(small[64 * kKilobyte - 1], 7);
  EXPECT_EQ(large[3 * kMiB - 1], 7);
}

} // namespace
} // namespace memtrace::record
