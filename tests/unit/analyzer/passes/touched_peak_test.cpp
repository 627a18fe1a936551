// Purpose: tests that the peak by which processes are ordered is that of memory which is the process's own.
#include "analyzer/passes/touched_peak.h"

#include <gtest/gtest.h>

#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::replay {
namespace {

using tests::Builder;
using tests::kMiB;

std::uint64_t peak_of(Builder& builder) {
  tests::Scratch scratch;
  tests::write_file(scratch.file("t.memtrace"), builder.bytes());
  return touched_peak(trace::Trace(scratch.file("t.memtrace")));
}

TEST(TouchedPeak, IsTheHighestLevel) {
  Builder builder;
  builder.birth(1 << 20, 3 * kMiB).birth(8 << 20, 5 * kMiB).death(8 << 20, 5 * kMiB).birth(8 << 20, kMiB);
  EXPECT_EQ(peak_of(builder), 8 * kMiB);
}

TEST(TouchedPeak, IsWithoutWhatTheParentMade) {
  Builder builder;
  builder.fork(500 * kMiB, 0).birth(1 << 20, 3 * kMiB);
  EXPECT_EQ(peak_of(builder), 3 * kMiB);
}

TEST(TouchedPeak, OfAProcessThatAllocatedNothing) {
  Builder builder;
  builder.exit(0);
  EXPECT_EQ(peak_of(builder), 0u);
}

} // namespace
} // namespace memtrace::replay
