// Purpose: what is in memory, page by page, mapping by mapping: against mappings made by hand.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "child.h"
#include "preload/allocator/pymalloc_arenas.h"
#include "preload/kernel/look_budget.h"
#include "preload/kernel/page_residency.h"
#include "preload/kernel/proc_maps.h"
#include "preload/os/clocks.h"
#include "preload/os/recorder_mappings.h"
#include "preload/rss/nonresident_ranges.h"

namespace memtrace::record {
namespace {

constexpr std::uint64_t kPage = 4096;

std::uint64_t number(const void* p) {
  return reinterpret_cast<std::uint64_t>(p);
}

using Runs = std::vector<std::pair<std::uint64_t, std::uint64_t>>; // in pages from the start

Runs runs_of(const char* start, std::size_t pages, Pages::Of of, bool scan = true) {
  Pages reader(scan);
  EXPECT_TRUE(reader.known());
  reader.begin(number(start), number(start) + pages * kPage, of);
  Runs out;
  for (PageRun run; reader.next(&run);)
    out.emplace_back((run.start - number(start)) / kPage, (run.end - number(start)) / kPage);
  return out;
}

// Adjacent runs are one, however many answers they came in.
Runs joined(const Runs& runs) {
  Runs out;
  for (const auto& run : runs) {
    if (!out.empty() && out.back().second == run.first)
      out.back().second = run.second;
    else
      out.push_back(run);
  }
  return out;
}

TEST(Pages, OfMemoryWithoutAFile) {
  constexpr std::size_t kPages = 20'000; // more than one answer tells of
  char* const p = static_cast<char*>(
      mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(p, MAP_FAILED);
  madvise(p, kPages * kPage, MADV_NOHUGEPAGE);
  EXPECT_TRUE(runs_of(p, kPages, Pages::Of::anonymous).empty());
  Runs expected;
  for (const auto& [first, last] : Runs{{3, 4}, {100, 4097}, {8000, 8001}, {8002, 8010}, {19'999, 20'000}}) {
    std::memset(p + first * kPage, 1, (last - first) * kPage);
    expected.emplace_back(first, last);
  }
  EXPECT_EQ(joined(runs_of(p, kPages, Pages::Of::anonymous)), expected);
  for (std::size_t i = 10'000; i < 14'000; i += 2) { // more runs than one answer has room for
    p[i * kPage] = 1;
    expected.insert(expected.end() - 1, {i, i + 1});
  }
  EXPECT_EQ(joined(runs_of(p, kPages, Pages::Of::anonymous)), expected);
  EXPECT_EQ(joined(runs_of(p, kPages, Pages::Of::file)), expected) << "the page tables say the same";
  EXPECT_EQ(joined(runs_of(p, kPages, Pages::Of::file, false)), expected) << "also on a kernel without scans";
  munmap(p, kPages * kPage);
}

// More than mincore or pagemap could be asked for one by one: 6.5 s of CPU, and 340.
TEST(Pages, AReservationCostsWhatIsInIt) {
  constexpr std::uint64_t kBytes = std::uint64_t{16} << 40;
  char* const p = static_cast<char*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (p == MAP_FAILED) GTEST_SKIP() << "no 16 TiB of addresses can be had";
  madvise(p, kBytes, MADV_NOHUGEPAGE);
  constexpr std::size_t kPages = kBytes / kPage;
  Runs expected;
  for (std::size_t i = 0; i < 40; ++i) {
    const std::size_t first = i * (kPages / 40) + i, count = i % 2 ? 1 : 700;
    std::memset(p + first * kPage, 1, count * kPage);
    expected.emplace_back(first, first + count);
  }
  for (const Pages::Of of : {Pages::Of::anonymous, Pages::Of::written, Pages::Of::forked}) {
    const std::uint64_t before = os::thread_cpu_ns();
    const Runs found = joined(runs_of(p, kPages, of));
    if (Pages reader; !reader.scans()) GTEST_SKIP() << "Linux before 6.7 cannot skip what has no page table";
    EXPECT_EQ(found, expected) << static_cast<int>(of);
    EXPECT_LT(os::thread_cpu_ns() - before, 500'000'000u) << static_cast<int>(of);
  }
  munmap(p, kBytes);
}

TEST(Pages, TheNextTurnGoesOn) {
  constexpr std::size_t kPages = 50'000;
  char* const p = static_cast<char*>(
      mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(p, MAP_FAILED);
  madvise(p, kPages * kPage, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < kPages; i += i < 30'000 ? 3 : 5'000) p[i * kPage] = 1;
  for (const Pages::Of of : {Pages::Of::anonymous, Pages::Of::written, Pages::Of::forked, Pages::Of::file}) {
    for (const bool scan : {true, false}) {
      const Runs all = runs_of(p, kPages, of, scan);
      Runs parts;
      unsigned turns = 0;
      for (std::uint64_t at = number(p), end = at + kPages * kPage; at < end; ++turns) {
        ASSERT_LT(turns, 100'000u);
        Pages reader(scan);
        const Turn turn(20'000);
        reader.begin(at, end, of, &turn);
        for (PageRun run; reader.next(&run);)
          parts.emplace_back((run.start - number(p)) / kPage, (run.end - number(p)) / kPage);
        EXPECT_EQ(reader.done(), reader.at() >= end);
        at = reader.at();
      }
      EXPECT_GT(turns, 1u);
      EXPECT_EQ(joined(parts), joined(all)) << static_cast<int>(of);
    }
  }
  munmap(p, kPages * kPage);
}

// Of a file of so many pages, each written.
char* mapped_file(std::size_t pages, int flags) {
  const tests::Scratch scratch;
  const int fd = open(scratch.file("mapped").c_str(), O_RDWR | O_CREAT, 0600);
  const std::string page(kPage, 'x');
  for (std::size_t i = 0; i < pages; ++i)
    EXPECT_EQ(write(fd, page.data(), page.size()), static_cast<ssize_t>(kPage));
  void* const p = mmap(nullptr, pages * kPage, PROT_READ | PROT_WRITE, flags, fd, 0);
  close(fd);
  return static_cast<char*>(p);
}

TEST(Pages, OfAFileWhatIsMappedNotWhatIsCached) {
  char* const p = mapped_file(64, MAP_SHARED);
  madvise(p, 64 * kPage, MADV_RANDOM);
  p[10 * kPage] = 1;
  for (const bool scan : {true, false}) {
    bool touched = false;
    std::uint64_t pages = 0;
    for (const auto& [first, last] : runs_of(p, 64, Pages::Of::file, scan)) {
      touched = touched || (first <= 10 && 10 < last);
      pages += last - first;
    }
    EXPECT_TRUE(touched);
    EXPECT_LT(pages, 64u) << "all of it is in the page cache, and not all is mapped";
  }
  munmap(p, 64 * kPage);
}

TEST(Pages, PrivateCopiesOfAFile) {
  char* const p = mapped_file(16, MAP_PRIVATE);
  const volatile char read = p[3 * kPage];
  EXPECT_EQ(read, 'x');
  p[5 * kPage] = 1;
  p[6 * kPage] = 1;
  for (const bool scan : {true, false}) {
    std::uint64_t copies = 0, of_file = 0;
    Pages pages(scan);
    pages.begin(reinterpret_cast<std::uint64_t>(p), reinterpret_cast<std::uint64_t>(p + 16 * kPage),
                Pages::Of::copied_file);
    for (PageRun run; pages.next(&run);) (run.of_file ? of_file : copies) += (run.end - run.start) / kPage;
    EXPECT_EQ(copies, 2u);
    EXPECT_GE(of_file, 1u);
  }
  munmap(p, 16 * kPage);
}

TEST(Holes, WhatOfABlockIsNotThere) {
  static Holes holes;
  holes.clear();
  holes.add(0x1000, 0x3000, false);
  holes.add(0x5000, 0x6000, true);
  holes.add(0x9000, 0x20000, true);
  const auto in = [](std::uint64_t start, std::uint64_t end) {
    const Holes::Overlap overlap = holes.within(start, end);
    return std::pair(overlap.all, overlap.heap);
  };
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(in(0, 0x1000), Pair(0, 0));
  EXPECT_EQ(in(0x2ff0, 0x5010), Pair(0x20, 0x10));
  EXPECT_EQ(in(0, 0x30000), Pair(0x1a000, 0x18000));
  EXPECT_EQ(in(0x3000, 0x5000), Pair(0, 0));
  EXPECT_EQ(in(0x20000, 0x30000), Pair(0, 0));
}

TEST(MapsText, LinesOfTheKernel) {
  Mapping one;
  const auto parse = [&](const std::string& line) { return parse_mapping(line.data(), line.size(), &one); };
  EXPECT_TRUE(parse("7f0c1c000000-7f0c1c021000 rw-p 00000000 00:00 0 "));
  EXPECT_EQ(one.start, 0x7f0c1c000000u);
  EXPECT_EQ(one.end, 0x7f0c1c021000u);
  EXPECT_TRUE(one.readable && !one.shared);
  EXPECT_STREQ(one.path, "");
  EXPECT_TRUE(parse("1000-2000 ---s 00000000 fd:01 12345                          /a b/c (deleted)"));
  EXPECT_TRUE(!one.readable && one.shared);
  EXPECT_STREQ(one.path, "/a b/c (deleted)");
  EXPECT_TRUE(parse("1000-2000 r-xp 00000000 fd:01 12345 /" + std::string(5000, 'x')));
  EXPECT_EQ(std::strlen(one.path), sizeof one.path - 1) << "cut";
  EXPECT_FALSE(parse(""));
  EXPECT_FALSE(parse("nonsense"));
  EXPECT_FALSE(parse("2000-1000 r-xp 00000000 fd:01 12345 "));
}

TEST(MapsText, EveryMappingOfThisProcessOnce) {
  std::vector<char*> mine;
  for (int i = 0; i < 600; ++i) // longer than one read; two of one kind would become one
    mine.push_back(static_cast<char*>(
        mmap(nullptr, kPage, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
  std::size_t found = 0;
  std::uint64_t before = 0;
  Mapping one;
  MapsReader maps{};
  for (maps.open(); maps.next(&one); before = one.end) {
    EXPECT_GE(one.start, before);
    for (const char* at : mine) found += number(at) >= one.start && number(at) < one.end;
  }
  maps.close();
  EXPECT_EQ(found, mine.size());
  for (char* at : mine) munmap(at, kPage);
}

TEST(OwnRanges, NotedForgottenAndLeftBehind) {
  const auto bytes_of = [](const void* address) {
    for (const NotedRange& range : own_ranges())
      if (range.start == number(address)) return range.bytes;
    return std::uint64_t{0};
  };
  const char a = 0, b = 0;
  note_own(&a, 100);
  note_own(&b, 200);
  own_stays_behind(&b);
  EXPECT_EQ(bytes_of(&a), 100u);
  EXPECT_EQ(bytes_of(&b), 200u);
  forget_own_of_parent();
  EXPECT_EQ(bytes_of(&a), 100u);
  EXPECT_EQ(bytes_of(&b), 0u);
  forget_own(&a);
  EXPECT_EQ(bytes_of(&a), 0u);
}

TEST(PythonArenas, PoolsAsCPythonLaysThemOut) {
  constexpr std::size_t kArena = 1 << 20, kPool = 16 * 1024;
  char* const arena =
      static_cast<char*>(mmap(nullptr, kArena, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const std::uint64_t first = (number(arena) + kPool - 1) & ~(kPool - 1);
  const auto pool = [&](std::size_t i, std::uint32_t blocks, std::uint32_t size) {
    auto* const words = reinterpret_cast<std::uint32_t*>(first + i * kPool);
    words[0] = blocks;
    words[4] = 1; // next
    words[9] = size;
  };
  pool(0, 100, 1);   // of 32 bytes
  pool(1, 0, 3);     // given back
  pool(2, 31, 31);   // of 512
  pool(3, 4000, 31); // cannot be: it was seen while it changed
  ArenaFill fill;
  look_at_arena(number(arena), kArena, &fill);
  EXPECT_EQ(fill.arenas, 1u);
  EXPECT_EQ(fill.used, 100 * 32u + 31 * 512u);
  EXPECT_EQ(fill.used + fill.free, 4 * kPool) << "no pool was made behind them";
  munmap(arena, kArena);
  look_at_arena(number(arena), kArena, &fill);
  EXPECT_EQ(fill.arenas, 1u) << "one that is gone does no harm";
}

} // namespace
} // namespace memtrace::record
