// Purpose: the order in which events of several threads and segments are read.
#include <gtest/gtest.h>

#include "builder.h"
#include "trace/read_files.h"

namespace memtrace::trace {
namespace {

using format::EventType;
using tests::Builder;

TEST_F(Files, ThreadsAreMergedByStamp) {
  Builder builder;
  for (std::uint64_t i = 0; i < 300; ++i) builder.on(static_cast<std::uint32_t>(i * 7 % 5)).birth(i, 8192);
  const Read out = read(write(builder.bytes(16)));
  EXPECT_EQ(addresses(out.events), count_up(0, 300));
}

TEST_F(Files, ColdComesBeforeRingWhateverItsPlace) {
  Builder builder = births(10);
  const std::string cold =
      tests::encode({builder.records(0).begin(), builder.records(0).begin() + 5}, 0, format::Source::cold, 0);
  const std::string ring =
      tests::encode({builder.records(0).begin() + 5, builder.records(0).end()}, 0, format::Source::ring, 0);
  const Read out = read(write(ring + builder.definitions() + cold));
  EXPECT_EQ(addresses(out.events), count_up(0, 10));
  EXPECT_EQ(out.losses.total(), 0u);
}

TEST_F(Files, AMoveIsADeathAndLaterABirth) {
  Builder builder;
  builder.birth(1, 8192).move(1, 2, 16384, 8192, 1500);
  builder.on(1).birth(3, 8192); // a microsecond after the death, before the birth
  builder.on(0).birth(4, 8192);
  const Read out = read(write(builder.bytes()));
  ASSERT_EQ(out.events.size(), 5u);
  EXPECT_EQ(addresses(out.events), (std::vector<std::uint64_t>{1, 3, 2, 4}));
  EXPECT_EQ(out.events[1].type, EventType::death);
  EXPECT_EQ(out.events[1].as<format::DeathEvent>().given, 8192u);
  EXPECT_EQ(out.counts.records, 4u);
}

TEST_F(Files, StampsThatRunBackwardsLoseNothing) {
  Builder builder;
  const std::uint64_t base = Builder::kStart;
  builder.put(EventType::birth, 1, 0, {1, 1, 1}, base + 500);
  builder.put(EventType::birth, 1, 0, {2, 1, 1}, base + 100); // a signal handler's
  builder.put(EventType::birth, 1, 0, {3, 1, 1}, base + 600);
  builder.on(1).put(EventType::birth, 1, 0, {4, 1, 1}, base + 550);
  const Read out = read(write(builder.bytes()));
  EXPECT_EQ(addresses(out.events), (std::vector<std::uint64_t>{1, 2, 4, 3}));
}

} // namespace
} // namespace memtrace::trace
