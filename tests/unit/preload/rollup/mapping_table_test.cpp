// Purpose: mappings cut, moved and opened in parts, against a page table.
#include "preload/rollup/mapping_table.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "host.h"
#include "tests/unit/seed.h"

namespace memtrace::rollup {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kPages = 300;

TEST(Mappings, LikeAPageTable) {
  const Host host = tests::host();
  Mappings mappings;
  std::array<std::uint32_t, kPages> owner{}; // by page: which mapping, 0 none
  std::mt19937_64 random(tests::seed(11));
  for (std::uint32_t number = 1; number < 5'000; ++number) {
    const std::uint64_t first = random() % (kPages - 1);
    const std::uint64_t last = first + 1 + random() % (kPages - first - 1 < 40 ? kPages - first - 1 : 40);
    const std::uint64_t from = first * kPage, to = last * kPage;
    mappings.split(host, 0, from);
    mappings.split(host, 0, to);
    for (std::uint32_t i = mappings.from(0, from); i < mappings.size() && mappings[i].address < to;)
      mappings.erase(i);
    for (std::uint64_t page = first; page < last; ++page) owner[page] = 0;
    if (random() % 2 == 0) {
      LedgerBlock block{};
      block.address = from;
      block.given = to - from;
      block.stack = number;
      block.state = LedgerBlock::kUsed;
      ASSERT_TRUE(mappings.add(host, block));
      for (std::uint64_t page = first; page < last; ++page) owner[page] = number;
    }
    std::array<std::uint32_t, kPages> found{};
    std::uint64_t end = 0;
    for (std::uint32_t i = 0; i < mappings.size(); ++i) {
      ASSERT_GE(mappings[i].address, end) << "in order, disjoint";
      end = mappings[i].address + mappings[i].given;
      for (std::uint64_t page = mappings[i].address / kPage; page < end / kPage; ++page)
        found[page] = mappings[i].stack;
    }
    ASSERT_EQ(found, owner) << number;
  }
}

TEST(Mappings, MemoriesAreApart) {
  const Host host = tests::host();
  Mappings mappings;
  for (std::uint8_t memory = 0; memory < 3; ++memory) {
    LedgerBlock block{};
    block.address = kPage;
    block.given = 4 * kPage;
    block.memory = memory;
    block.state = LedgerBlock::kUsed;
    ASSERT_TRUE(mappings.add(host, block));
  }
  mappings.split(host, 1, 2 * kPage);
  ASSERT_EQ(mappings.size(), 4u);
  EXPECT_EQ(mappings[mappings.from(0, 2 * kPage)].given, 4 * kPage);
  EXPECT_EQ(mappings[mappings.from(1, 2 * kPage)].address, 2 * kPage);
  EXPECT_EQ(mappings.from(2, 9 * kPage), mappings.size());
  EXPECT_EQ(mappings[mappings.from(0, 9 * kPage)].memory, 1) << "the next one is of the next memory";
}

} // namespace
} // namespace memtrace::rollup
