// Purpose: a file whose records were put into columns comes out of them byte for byte.
#include "analyzer/columns/file_columns.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "builder.h"
#include "preload/format/crc32c.h"

namespace memtrace::columns {
namespace {

using tests::Builder;
using tests::EventType;
using tests::RingRecord;
using tests::Source;

std::vector<std::string> blocks_of(const std::string& file) {
  std::vector<std::string> out; // a start and a block in turn
  to_columns(file, [&](std::string_view piece) { out.emplace_back(piece); });
  return out;
}

std::string columns_of(const std::string& file) {
  std::string out;
  for (const std::string& piece : blocks_of(file)) out += piece;
  return out;
}

// Returns nullopt if these are no columns.
std::optional<std::string> file_of(const std::string& columns, std::size_t piece = 1 << 16) {
  std::string out;
  FromColumns from([&](std::string_view bytes) { out += bytes; });
  for (std::size_t at = 0; at < columns.size(); at += piece)
    if (!from.add(std::string_view(columns).substr(at, piece))) return std::nullopt;
  if (!from.at_end()) return std::nullopt;
  return out;
}

bool has_segment(const std::string& bytes) {
  return bytes.find(std::string(format::kSegmentMagic, sizeof format::kSegmentMagic)) != std::string::npos;
}

void expect_same(const std::string& file) {
  EXPECT_TRUE(file_of(columns_of(file)) == file);
}

// Threads whose blocks live for random times, as an allocator gives them: the one that was freed last first.
Builder training(std::size_t blocks, std::uint32_t threads = 3) {
  Builder builder;
  std::mt19937 random(7);
  const std::uint32_t stack = builder.python_frame("main", "/home/u/train.py", 7, 0);
  std::vector<std::uint64_t> live, freed;
  for (std::size_t i = 0; i < blocks; ++i) {
    builder.on(static_cast<std::uint32_t>(random() % threads));
    std::uint64_t address = 0x10000 + 0x1000 * i;
    if (!freed.empty() && random() % 4 != 0) {
      address = freed.back();
      freed.pop_back();
    }
    builder.birth(address, 4096, format::Kind::heap, 0, stack, 4000 + random() % 90);
    live.push_back(address);
    if (random() % 3 == 0) {
      const std::size_t at = random() % live.size();
      builder.death(live[at], random() % 9 == 0 ? 0 : 4096);
      freed.push_back(live[at]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    }
    if (random() % 50 == 0) builder.move(live.back(), 0x7000'0000 + 0x2000 * i, 8192, 4096), live.pop_back();
    if (random() % 70 == 0) builder.begin("forward").end("forward").step(i);
  }
  return builder;
}

TEST(FileColumns, GiveTheFileAgain) {
  const std::string file = training(5000).bytes();
  const std::string columns = columns_of(file);
  EXPECT_FALSE(has_segment(columns)) << "each segment is in columns";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, columns.size()})
    EXPECT_TRUE(file_of(columns, piece) == file) << piece;
}

TEST(FileColumns, HaveEveryTypeOfRecord) {
  Builder builder;
  for (std::uint64_t turn = 0; turn < 3; ++turn)
    for (std::size_t type = 0; type < format::kEventTypes; ++type)
      for (const std::uint16_t flags : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{0xFFFF}})
        builder.on(turn % 2).put(static_cast<EventType>(type), static_cast<std::uint8_t>(type * turn), flags,
                                 {0x5000 * turn, ~turn, 0x3000 + type, turn << 32 | 5, ~0ull, 16});
  const std::string file = builder.bytes(11);
  EXPECT_FALSE(has_segment(columns_of(file)));
  expect_same(file);
}

TEST(FileColumns, KeepWhatIsInNoWholeSegment) {
  const std::string whole = training(300).bytes();
  expect_same("");
  expect_same("no trace");
  expect_same(whole.substr(0, whole.size() - 3));
  expect_same("before" + whole + std::string(format::kSegmentMagic, sizeof format::kSegmentMagic));
  for (std::size_t at = 0; at < whole.size(); at += whole.size() / 50) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    expect_same(damaged);
  }
  expect_same(std::string(3 << 20, 'x') + whole);
}

// A segment of a newer recorder, or of a source without records, has a valid checksum.
TEST(FileColumns, KeepSegmentsThatTheyDoNotKnow) {
  const std::string whole = training(300).bytes();
  for (const auto& [at, value] :
       {std::pair<std::size_t, std::uint8_t>{offsetof(format::SegmentHeader, version), 99},
        {offsetof(format::SegmentHeader, source), 4},
        {offsetof(format::SegmentHeader, source), 77},
        {offsetof(format::SegmentHeader, flags), 0xF0}}) {
    std::string changed = whole;
    changed[at] = static_cast<char>(value);
    format::SegmentHeader header{};
    std::memcpy(&header, changed.data(), sizeof header);
    header.checksum = 0;
    header.checksum = format::checksum(format::checksum(0, &header, sizeof header),
                                       changed.data() + sizeof header, header.payload_bytes);
    std::memcpy(changed.data(), &header, sizeof header);
    expect_same(changed);
  }
}

// More threads than there are models: a thread that was dropped continues its coding.
TEST(FileColumns, HaveManyThreads) {
  expect_same(training(20'000, 300).bytes(8));
}

TEST(FileColumns, AreRefusedIfTheyAreDamaged) {
  const std::string columns = columns_of(training(60).bytes());
  for (std::size_t at = 0; at < columns.size(); ++at) {
    std::string damaged = columns;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    EXPECT_FALSE(file_of(damaged)) << at;
  }
  for (std::size_t size = 1; size < columns.size(); ++size)
    EXPECT_FALSE(file_of(columns.substr(0, size))) << size;
}

TEST(FileColumns, HaveNoBlockWithoutRuns) {
  EXPECT_FALSE(file_of(std::string("\x01\0\0\0\0\0\0\0\0", 9)));
}

// If the end is missing, what came is the begin of the file.
TEST(FileColumns, ComeInBlocks) {
  const std::string file = training(100'000).bytes(2048);
  const std::vector<std::string> blocks = blocks_of(file);
  ASSERT_GE(blocks.size(), 6u) << "three blocks";
  std::string begin;
  for (std::size_t i = 0; i + 2 < blocks.size(); ++i) begin += blocks[i];
  const std::optional<std::string> came = file_of(begin);
  ASSERT_TRUE(came.has_value());
  EXPECT_GT(came->size(), file.size() / 4);
  EXPECT_TRUE(file.starts_with(*came));
  expect_same(file);
}

// A segment that says it has more records than its payload can hold.
TEST(FileColumns, DoNotTakeMemoryForRecordsThatAreNotThere) {
  const std::vector<std::string> blocks = blocks_of(training(4).bytes());
  const std::string& many = blocks.at(1);
  for (std::size_t at = 0; at + 4 < many.size(); ++at) {
    std::string forged = many;
    forged.replace(at, 4, "\xFF\xFF\xFF\x7F", 4);
    std::string start(8, '\0');
    const auto size = static_cast<std::uint32_t>(forged.size());
    std::memcpy(start.data(), &size, sizeof size);
    EXPECT_FALSE(file_of(start + forged)) << at;
  }
}

} // namespace
} // namespace memtrace::columns
