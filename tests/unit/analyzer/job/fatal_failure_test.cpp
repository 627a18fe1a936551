// Purpose: tests which of several failed allocations a death is explained by.
#include "analyzer/job/fatal_failure.h"

#include <gtest/gtest.h>

#include "analyzer/trace/trace.h"
#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::Builder;
using tests::kMiB;
using tests::kSecond;

void fail(Builder& b, std::uint64_t asked, unsigned memory = 0) {
  b.put(tests::EventType::failure, static_cast<std::uint8_t>(tests::Kind::heap),
        static_cast<std::uint16_t>(memory << format::kMemoryShift),
        {asked, format::halves(12, 0), 7, 0, trace::kNotSaid, trace::kNotSaid});
}

// Returns the size of the fatal failure; 0: none.
std::uint64_t fatal_size(Builder& b, const ProcessEnd& ending) {
  const tests::Scratch scratch;
  tests::write_file(scratch.file("t.memtrace"), b.bytes());
  const trace::Trace trace(scratch.file("t.memtrace"));
  const trace::Failure* const found = fatal(trace.samples(), b.now(), ending);
  return found == nullptr ? 0 : found->asked;
}

ProcessEnd exited_with(std::uint32_t code) {
  ProcessEnd out;
  out.how = "exit";
  out.code = code;
  return out;
}

TEST(FatalFailure, IsTheLast) {
  Builder b;
  fail(b, 2048 * kMiB); // it went on with less
  b.wait(kSecond);
  fail(b, 500 * kMiB);
  EXPECT_EQ(fatal_size(b, exited_with(1)), 500 * kMiB);
  b.wait(11 * kSecond);
  EXPECT_EQ(fatal_size(b, exited_with(1)), 0u) << "the process went on";
  EXPECT_EQ(fatal_size(b, exited_with(0)), 0u) << "it ended well";
}

// A MemoryError's traceback needs memory, too.
TEST(FatalFailure, IsTheLargestOfThoseThatFailedTogether) {
  Builder b;
  fail(b, 500 * kMiB);
  for (int i = 0; i < 40; ++i) {
    b.wait(kSecond / 50);
    fail(b, kMiB);
  }
  EXPECT_EQ(fatal_size(b, exited_with(1)), 500 * kMiB);
}

TEST(FatalFailure, IsNotAFullShmOfAWorker) {
  Builder b;
  b.put(tests::EventType::failure, static_cast<std::uint8_t>(tests::Kind::shm), 0,
        {16 * kMiB, format::halves(28, 0), 7, 0, trace::kNotSaid, trace::kNotSaid});
  const tests::Scratch scratch;
  tests::write_file(scratch.file("t.memtrace"), b.bytes());
  const trace::Trace trace(scratch.file("t.memtrace"));
  ProcessEnd end; // its loader sent SIGTERM, which leaves no record
  EXPECT_EQ(fatal(trace.samples(), b.now(), end, true), nullptr);
  EXPECT_NE(fatal(trace.samples(), b.now(), end, false), nullptr);
}

// PyTorch empties its cache after the first. What it could not free is held at the last.
TEST(FatalFailure, OnADeviceIsTheLast) {
  Builder b;
  fail(b, 600 * kMiB, 1);
  fail(b, 600 * kMiB, 1);
  fail(b, 500 * kMiB, 1);
  EXPECT_EQ(fatal_size(b, exited_with(1)), 500 * kMiB);
  const tests::Scratch scratch;
  tests::write_file(scratch.file("t.memtrace"), b.bytes());
  EXPECT_EQ(trace::Trace(scratch.file("t.memtrace")).samples().failures().size(), 3u);
}

// A program that catches MemoryError and asks on. The first of 16,455 failures had the user's line.
TEST(FatalFailure, OfManyEqualOnesTheFirstIsKept) {
  Builder b;
  fail(b, kMiB);
  const std::uint64_t first = b.now();
  for (int i = 0; i < 10'000; ++i) fail(b, kMiB);
  const tests::Scratch scratch;
  tests::write_file(scratch.file("t.memtrace"), b.bytes());
  const trace::Trace trace(scratch.file("t.memtrace"));
  ASSERT_EQ(trace.samples().failures().size(), 1u);
  EXPECT_EQ(trace.samples().failures()[0].times, 10'001u);
  EXPECT_LE(trace.samples().failures()[0].stamp, first);
}

} // namespace
} // namespace memtrace::report
