// Purpose: how the startup log ends: it is written when recording begins, or forgotten after a fork.
#include <gtest/gtest.h>

#include "child.h"
#include "preload/blocks/recording.h"
#include "preload/record/emit.h"
#include "preload/record/live_levels.h"
#include "preload/record/startup_log.h"
#include "preload/record/thread_entry.h"
#include "preload/ring/ring.h"
#include "preload/ring/ring_file.h"
#include "preload/state/recorder_state.h"
#include "preload/state/thread.h"
#include "reading.h"

namespace memtrace::record {
namespace {

using format::EventType;
using format::Kind;
using tests::in_child;
using tests::Scratch;

TEST(Cold, ClosedOnceFlushed) {
  const Scratch scratch;
  in_child([&] {
    tests::become_cold();
    tests::open_files(scratch);
    flush_startup_log();
    EXPECT_EQ(append_to_startup_log(*this_thread(), tests::birth_of(4096, 4096, 1)), AppendResult::closed);
    // Who saw the process cold a moment ago still gets its event into the trace.
    const Recording here;
    here.born({8192, 4096, 4096, Kind::heap});
    drain_rings(true);
    const auto segments = tests::read_segments(scratch.file("t.memtrace"));
    EXPECT_EQ(all_of(segments, EventType::birth).size(), 1u);
    EXPECT_EQ(tests::lost_in_all(), 0u);
  });
}

// Threads record already while the log is written, so a kill then leaves a peak that is in neither.
TEST(Cold, LevelsAreNotedWhileRecordingBegins) {
  const Scratch scratch;
  in_child([&] {
    tests::become_cold();
    tests::open_files(scratch);
    note_beginning();
    level(0, 1 << 20);
    level(0, -(1 << 20));
    EXPECT_GE(ring_header()->beginning, 1u << 20);
    flush_startup_log();
    level(0, 1 << 21);
    EXPECT_EQ(ring_header()->beginning, 0u) << "it has begun";
  });
}

TEST(Cold, ForgottenAfterFork) {
  const Scratch scratch;
  in_child([&] {
    tests::become_cold();
    append_to_startup_log(*this_thread(), tests::birth_of(4096, 4096, 1));
    forget_startup_log();
    append_to_startup_log(*this_thread(), tests::birth_of(8192, 4096, 2));
    tests::open_files(scratch);
    flush_startup_log();
    const auto births = all_of(tests::read_segments(scratch.file("t.memtrace")), EventType::birth);
    ASSERT_EQ(births.size(), 1u);
    EXPECT_EQ(births[0].as<format::BirthEvent>().address, 8192u);
  });
}

} // namespace
} // namespace memtrace::record
