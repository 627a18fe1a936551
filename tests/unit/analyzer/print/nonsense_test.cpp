// Purpose: reports of events with any words, behind good checksums.
#include <gtest/gtest.h>

#include <random>

#include "folder.h"
#include "tests/unit/seed.h"

namespace memtrace::tests {
namespace {

class Nonsense : public Folder {};

// The checksum guards against accidents only: behind a good one may be anything.
TEST_F(Nonsense, WithAGoodChecksumIsReadWithoutHarm) {
  std::mt19937_64 random(seed(7));
  for (int round = 0; round < 300; ++round) {
    Builder builder;
    for (int i = 0; i < 60; ++i) {
      builder.on(static_cast<std::uint32_t>(random() % 3));
      std::vector<std::uint64_t> words;
      const auto type = static_cast<std::uint8_t>(1 + random() % (format::kEventTypes - 1));
      for (std::size_t w = 0; w < format::kWords; ++w) {
        // Small numbers meet: ids that exist, blocks that overlap. Large ones overflow.
        const std::uint64_t word = random() % 3 == 0 ? random() : random() % 9 << random() % 40;
        words.push_back(format::kEventLayouts[type][w] == '0' ? 0 : word);
      }
      builder.put(static_cast<format::EventType>(type), static_cast<std::uint8_t>(random() % 16),
                  static_cast<std::uint16_t>(random() % 3 == 0 ? random() : random() % 8), words,
                  random() % 9 == 0 ? random() : 0);
    }
    options.steps.all = round % 2 == 0;
    write(".memtrace", builder.bytes());
    EXPECT_FALSE(process().dump().empty());
    EXPECT_FALSE(text().empty());
  }
}

} // namespace
} // namespace memtrace::tests
