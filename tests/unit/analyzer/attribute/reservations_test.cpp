// Purpose: tests which mappings are reservations, and from when to when.
#include "analyzer/attribute/reservations.h"

#include <gtest/gtest.h>

namespace memtrace::replay {
namespace {

constexpr std::uint64_t kMib = 1 << 20;

Block mapping(std::uint64_t mib) {
  Block out;
  out.address = 0x100000;
  out.kind = format::Kind::mmap_anon;
  out.given = mib * kMib;
  out.counted = true;
  return out;
}

TEST(Reservations, AreLargeMappingsThatWereHardlyTouched) {
  EXPECT_TRUE(is_reservation(mapping(64), 3 * kMib));
  EXPECT_FALSE(is_reservation(mapping(64), 4 * kMib)) << "1 part in 16 was touched";
  EXPECT_FALSE(is_reservation(mapping(16), 0)) << "too small";
  Block heap = mapping(64);
  heap.kind = format::Kind::heap;
  EXPECT_FALSE(is_reservation(heap, 0)) << "a block of malloc is none";
  Block tensor = mapping(64);
  tensor.tensor = true;
  EXPECT_FALSE(is_reservation(tensor, 0));
}

trace::Event scan(const Block& block, std::uint64_t resident, trace::Ordinal at) {
  trace::Event out;
  out.put(
      format::SampleTouchedEvent{block.address, block.birth_stamp, block.given, resident, block.birth_stamp});
  out.ordinal = at;
  out.stamp = at;
  return out;
}

// A mapping of 64 MiB from event 10 to event 50. A scan at event 20 finds 1 MiB touched, one at event 40 half
// of it.
TEST(Reservations, CountFromBirthToDeathAndUntilTheyAreUsed) {
  Block block = mapping(64);
  block.birth = block.birth_stamp = 10;
  Touched touched;
  touched.look(scan(block, 1 * kMib, 20));
  touched.look(scan(block, 32 * kMib, 40));
  Reservations all;
  all.add(block, 50, touched);
  EXPECT_EQ(all.untouched(9), 0u);
  EXPECT_EQ(all.untouched(10), 63 * kMib);
  EXPECT_EQ(all.untouched(20), 63 * kMib);
  EXPECT_EQ(all.untouched(21), 0u) << "the next scan finds it in use";
  EXPECT_EQ(all.untouched(50), 0u);
}

// Two parts of one mapping, as after an munmap in its middle.
TEST(Reservations, KnowWhatOfABlockWasNeverTouched) {
  Block used = mapping(64), unused = mapping(64);
  used.birth = used.birth_stamp = unused.birth = unused.birth_stamp = 10;
  unused.address += 128 * kMib;
  Touched touched;
  touched.look(scan(used, 1 * kMib, 20));
  touched.look(scan(used, 32 * kMib, 40));
  touched.look(scan(unused, 2 * kMib, 20));
  Reservations all;
  all.add(used, 50, touched);
  all.add(unused, 50, touched);
  EXPECT_EQ(all.never_touched(used), 0u) << "it was touched before it ended";
  EXPECT_EQ(all.never_touched(unused), 62 * kMib);
  EXPECT_EQ(all.never_touched(mapping(64)), 0u) << "another block";
}

TEST(Reservations, AMappingWithoutAScanWasTouched) {
  Reservations all;
  all.add(mapping(64), 50, Touched());
  EXPECT_EQ(all.untouched(10), 0u);
}

} // namespace
} // namespace memtrace::replay
