// Purpose: texts and stacks get one id each, and the trace says what it is before it is used.
#include "preload/record/interner.h"
#include "preload/blocks/recording.h"
#include "preload/format/phase_events.h"
#include "preload/record/stack_capture.h"
#include "preload/record/thread_entry.h"
#include "preload/ring/ring.h"
#include "preload/state/recorder_state.h"

#include <gtest/gtest.h>

#include <string>

#include "child.h"
#include "reading.h"

namespace memtrace::record {
namespace {

using format::EventType;
using format::RingRecord;
using format::StackId;
using format::TextId;
using tests::in_child;
using tests::Scratch;

TextId text_of(const std::string& text) {
  return intern_text(text.data(), text.size());
}

TEST(Definitions, EqualTextsHaveOneId) {
  in_child([] {
    const TextId a = text_of("forward"), b = text_of("backward");
    EXPECT_NE(a, TextId{0});
    EXPECT_NE(a, b);
    EXPECT_EQ(text_of("forward"), a);
    EXPECT_NE(text_of("forwar"), a);
    EXPECT_NE(text_of(std::string("forward\0", 8)), a);
    EXPECT_NE(text_of(""), TextId{0}) << "the empty text is one";
    EXPECT_EQ(text_of(""), text_of(""));
  });
}

TEST(Definitions, CopyText) {
  in_child([] {
    const TextId id = text_of("forward");
    char out[8] = "xxxxxxx";
    EXPECT_EQ(copy_text(id, out, 4), 4u);
    EXPECT_EQ(std::string(out), "forwxxx");
    EXPECT_EQ(copy_text(id, out, sizeof out), 7u);
    EXPECT_EQ(std::string(out, 7), "forward");
    EXPECT_EQ(copy_text(TextId{0}, out, sizeof out), 0u);
  });
}

TEST(Definitions, EqualStacksHaveOneId) {
  in_child([] {
    const StackId outer = intern_native(StackId{0}, 0x1000);
    const StackId inner = intern_native(outer, 0x2000);
    EXPECT_NE(outer, StackId{0});
    EXPECT_NE(inner, outer);
    EXPECT_EQ(intern_native(StackId{0}, 0x1000), outer);
    EXPECT_EQ(intern_native(outer, 0x2000), inner);
    EXPECT_NE(intern_native(StackId{0}, 0x2000), inner) << "another caller";
    EXPECT_NE(intern_native(inner, 0x2000), inner) << "a recursion";
  });
}

// Every stack and text of `segments` is defined before it is used as a caller.
void check_stacks(const std::vector<tests::Segment>& segments, std::size_t count) {
  std::map<std::uint32_t, std::uint64_t> known;
  for (const RingRecord& record : all_of(segments, EventType::stack)) {
    const auto& stack = record.as<format::StackEvent>();
    const auto caller = static_cast<std::uint32_t>(stack.caller);
    EXPECT_TRUE(caller == 0 || known.contains(caller)) << caller;
    EXPECT_TRUE(known.emplace(static_cast<std::uint32_t>(stack.id), stack.frame).second) << "defined twice";
  }
  EXPECT_EQ(known.size(), count);
}

TEST(Definitions, BeforeRecordingInTheirOwnSegments) {
  const Scratch scratch;
  in_child([&] {
    const std::string lengthy(1000, 'x');
    const TextId id = text_of(lengthy), exact = text_of(std::string(40, 'y')), nothing = text_of("");
    StackId at{};
    for (std::uint64_t i = 1; i <= 5000; ++i) at = intern_native(i % 50 == 0 ? StackId{0} : at, i * 16);
    tests::become_hot(scratch);
    const auto segments = tests::read_segments(scratch.file("t.memtrace"));
    for (const auto& segment : segments)
      EXPECT_EQ(segment.header.source, static_cast<std::uint8_t>(format::Source::definitions));
    EXPECT_EQ(by_thread(segments, format::Source::definitions).size(), 1u) << "one thread, no gap";
    auto texts = tests::texts_of(segments);
    EXPECT_EQ(texts[static_cast<std::uint32_t>(id)], lengthy);
    EXPECT_EQ(texts[static_cast<std::uint32_t>(exact)], std::string(40, 'y'));
    EXPECT_TRUE(texts.contains(static_cast<std::uint32_t>(nothing)));
    check_stacks(segments, 5000);
    EXPECT_EQ(tests::lost_in_all(), 0u);
  });
}

TEST(Definitions, AfterwardsInTheRing) {
  const Scratch scratch;
  in_child([&] {
    const StackId old = intern_native(StackId{0}, 0x1000);
    tests::become_hot(scratch);
    const Recording here;
    EXPECT_EQ(intern_native(StackId{0}, 0x1000), old);
    const StackId fresh = intern_native(old, 0x3000);
    const TextId text = text_of("late");
    here.mark(format::PhaseBeginEvent{text, 0});
    drain_rings(true);
    const auto segments = tests::read_segments(scratch.file("t.memtrace"));
    const auto records = by_thread(segments, format::Source::ring).at(this_thread()->index);
    ASSERT_EQ(records.size(), 3u);
    const auto& stack = records[0].as<format::StackEvent>();
    EXPECT_EQ(stack.id, fresh);
    EXPECT_EQ(stack.caller, old);
    EXPECT_EQ(stack.frame, 0x3000u);
    EXPECT_TRUE(tests::is(records[1], EventType::text));
    EXPECT_TRUE(tests::is(records[2], EventType::phase_begin));
    EXPECT_EQ(tests::texts_of(segments)[static_cast<std::uint32_t>(text)], "late");
    check_stacks(segments, 2);
  });
}

TEST(Definitions, AForkedChildDefinesAllAgain) {
  const Scratch parent, child;
  in_child([&] {
    const StackId outer = intern_native(StackId{0}, 0x1000);
    tests::become_hot(parent);
    intern_native(outer, 0x2000);
    definitions_forked();
    forget_rings();
    forget_other_threads();
    tests::become_hot(child);
    check_stacks(tests::read_segments(child.file("t.memtrace")), 2);
  });
}

// The loss is counted once for each stack, by capture_stack.
TEST(Definitions, FullIsToldAndFindsStill) {
  in_child([] {
    const StackId first = intern_native(StackId{0}, 1);
    StackId last{};
    std::uint64_t address = 2;
    do last = intern_native(StackId{0}, address++);
    while (last != StackId{0} && address < 600'000);
    EXPECT_EQ(last, StackId{0}) << "the caller, which is none";
    EXPECT_GT(address, 500'000u);
    EXPECT_TRUE(stacks_are_full());
    EXPECT_EQ(intern_native(StackId{0}, 1), first);
  });
}

TEST(Definitions, HeldIsBounded) {
  const Scratch scratch;
  in_child([&] {
    tests::open_files(scratch);
    const StackId outer = intern_native(StackId{0}, 1);
    ASSERT_TRUE(hold_definitions());
    EXPECT_EQ(intern_native(outer, 2), outer) << "what could not be interned is left out";
    EXPECT_EQ(text_of("never"), TextId{0});
    EXPECT_EQ(tests::lost_for(format::Loss::stacks), 1u) << "the text; stacks are counted whole";
    release_definitions();
    EXPECT_NE(intern_native(outer, 2), outer);
  });
}

TEST(Stack, NoneWhenNotAskedFor) {
  in_child([] {
    enter(State::buffering);
    settings.stacks = Stacks::none;
    prepare_stacks();
    const Recording here;
    EXPECT_EQ(capture_stack(true).stack, StackId{0});
  });
}

} // namespace
} // namespace memtrace::record
