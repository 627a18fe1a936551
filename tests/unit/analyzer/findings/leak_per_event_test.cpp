// Purpose: what each evaluation, save or call leaves is found, and what a program keeps by design is not.
#include "analyzer/findings/process/leak_per_event.h"

#include <gtest/gtest.h>

#include <functional>

#include "analyzer/findings/all_findings.h"
#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::Builder;
using tests::kMiB;
using tests::kSignedMiB;

class EventLeaks : public testing::Test {
 protected:
  EventLeaks() {
    site = builder.python_frame("keep", "/home/u/train.py", 31, 0);
    other = builder.python_frame("keep", "/home/u/train.py", 32, 0);
    builder.begin("load").birth(1, 50 * kMiB).end("load");
  }

  // `forward` is called in each step, within forward; `after` once the step has updated.
  void train(int steps, const std::function<void(int)>& forward, const std::function<void(int)>& after) {
    for (int step = 0; step < steps; ++step) {
      builder.begin("forward").birth(2, 40 * kMiB).death(2);
      if (forward) forward(step);
      builder.end("forward").begin("step").birth(3, kMiB).death(3).end("step");
      if (after) after(step);
    }
  }
  Findings found(bool exits = true) {
    if (exits) builder.exit(0);
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    analysis_ = analyze_process(std::move(trace), "main", std::move(end), Options{});
    return find(*analysis_);
  }
  Builder& left(std::uint64_t number, std::uint64_t mib = 1) {
    return builder.birth(address(number), mib * kMiB, format::Kind::heap, 0, site);
  }
  static std::uint64_t address(std::uint64_t number) { return 0x10000000 + number * 0x4000000; }

  Builder builder;
  std::uint32_t site = 0;
  std::uint32_t other = 0;

 private:
  tests::Scratch scratch_;
  std::unique_ptr<ProcessAnalysis> analysis_;
};

// At the highest point of step 49, the evaluations after steps 4, 9, ... 44 have left 1 MiB each.
TEST_F(EventLeaks, OfEvaluations) {
  train(50, {}, [this](int step) {
    if (step % 5 != 4) return;
    for (int batch = 0; batch < 2; ++batch) {
      builder.begin("eval").birth(4, 2 * kMiB).death(4);
      if (batch == 0) left(static_cast<std::uint64_t>(step));
      builder.end("eval");
    }
  });
  const Findings all = found(false);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].id, "leak-per-event");
  EXPECT_EQ(all[0].bytes, kSignedMiB);
  EXPECT_TRUE(all[0].certain);
  EXPECT_EQ(all[0].phase, "eval");
  EXPECT_EQ(all[0].title,
            "Memory grows by 1.00 MiB with each evaluation, at train.py:31: 10.00 MiB are held at the death");
  EXPECT_EQ(all[0].evidence.at(0), "Of 9 such events, 9 left memory, in steps 4 to 44");
  ASSERT_TRUE(all[0].saving);
  EXPECT_EQ(all[0].saving->bytes, 9 * kSignedMiB) << "the peak is in step 49, before its own evaluation";
}

TEST_F(EventLeaks, OfThingsMadeFromTheResultsOfAnEvaluation) {
  train(50, {}, [this](int step) {
    if (step % 7 != 4) return;
    builder.begin("eval").birth(4, 2 * kMiB).death(4).end("eval");
    left(static_cast<std::uint64_t>(step));
  });
  const Findings all = found();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].id, "leak-per-event");
  EXPECT_NE(all[0].title.find("with each evaluation, at train.py:31"), std::string::npos) << all[0].title;
}

TEST_F(EventLeaks, OfSavesInFewSteps) {
  train(8, {}, [this](int step) {
    builder.begin("save").birth(4, 2 * kMiB).death(4);
    left(static_cast<std::uint64_t>(step)).end("save");
  });
  const Findings all = found(false);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].bytes, kSignedMiB);
  EXPECT_NE(all[0].title.find("with each save"), std::string::npos) << all[0].title;
}

TEST_F(EventLeaks, OfEachTenthStep) {
  train(100,
        [this](int step) {
          if (step % 10 == 9) left(static_cast<std::uint64_t>(step));
        },
        {});
  const Findings all = found(false);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].id, "leak-per-event");
  EXPECT_EQ(all[0].title,
            "Memory grows by 1.00 MiB every 10 steps, at train.py:31: 10.00 MiB are held at the death");
}

TEST_F(EventLeaks, OfTheSameEventsAreOne) {
  train(50, {}, [this](int step) {
    if (step % 5 != 4) return;
    builder.begin("eval").end("eval");
    left(static_cast<std::uint64_t>(step));
    builder.birth(address(100 + static_cast<std::uint64_t>(step)), 3 * kMiB, format::Kind::heap, 0, other);
  });
  const Findings all = found();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].bytes, 4 * kSignedMiB);
  EXPECT_EQ(all[0].stacks.size(), 2u);
  EXPECT_NE(all[0].title.find("at train.py:32 and 1 more line"), std::string::npos) << all[0].title;
}

TEST_F(EventLeaks, OfEachStepAreALeakPerStep) {
  train(
      50, [this](int step) { left(static_cast<std::uint64_t>(step)); },
      [this](int step) {
        if (step % 5 == 4) builder.begin("eval").birth(4, 2 * kMiB).death(4).end("eval");
      });
  const Findings all = found(false);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].id, "leak-per-step");
}

// Python frees what a program kept when the process exits.
TEST_F(EventLeaks, OfCallsWithoutSteps) {
  for (std::uint64_t call = 0; call < 20; ++call) {
    builder.begin("generate").birth(4, 8 * kMiB).death(4);
    left(call, 4).end("generate");
  }
  for (std::uint64_t call = 0; call < 20; ++call) builder.death(address(call));
  const Findings all = found();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].bytes, 4 * kSignedMiB);
  EXPECT_EQ(all[0].title,
            "Memory grows by 4.00 MiB with each generate call, at train.py:31: 80.00 MiB are held "
            "after the last generate call");
  ASSERT_TRUE(all[0].saving);
  EXPECT_EQ(all[0].saving->bytes, 19 * 4 * kSignedMiB) << "the peak is in the last call, before its own";
}

// The peak is in the eleventh call, which needs its own block.
TEST_F(EventLeaks, SaveWhatEarlierEventsLeft) {
  for (std::uint64_t call = 0; call < 20; ++call) {
    builder.begin("generate");
    left(call, 4);
    if (call == 10) builder.birth(4, 200 * kMiB).death(4);
    builder.end("generate");
  }
  const Findings all = found();
  ASSERT_EQ(all.size(), 1u);
  ASSERT_TRUE(all[0].saving);
  EXPECT_EQ(all[0].saving->bytes, 10 * 4 * kSignedMiB);
}

TEST_F(EventLeaks, OfAMarkWithinThatOfTheRun) {
  builder.begin("serve", 0);
  for (std::uint64_t call = 0; call < 20; ++call) {
    builder.begin("request", 0).begin("eval").birth(4, 8 * kMiB).death(4);
    left(call, 4).end("eval").end("request");
  }
  builder.end("serve");
  const Findings all = found();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NE(all[0].title.find("with each phase request, at"), std::string::npos) << all[0].title;
}

TEST_F(EventLeaks, OfLoadsThatAModelSeparates) {
  builder.begin("eval").end("eval");
  for (std::uint64_t call = 0; call < 8; ++call) {
    builder.begin("load");
    left(call, 10).end("load").begin("eval").end("eval");
  }
  const Findings all = found();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].bytes, 10 * kSignedMiB);
}

TEST_F(EventLeaks, OfTheShardsOfAModelAreNone) {
  builder.begin("eval").end("eval");
  for (std::uint64_t call = 0; call < 20; ++call) {
    builder.begin("load");
    left(call, 10).end("load");
  }
  builder.begin("eval").end("eval");
  EXPECT_TRUE(found().empty());
}

// A program may keep the results of one evaluation until it is over.
TEST_F(EventLeaks, OfThePassesOfOneEvaluationAreNone) {
  train(3, {}, {});
  for (std::uint64_t batch = 0; batch < 40; ++batch) {
    builder.begin("data").birth(4, kMiB).death(4).end("data").begin("eval");
    left(batch).end("eval");
  }
  EXPECT_TRUE(found().empty());
}

// The cache of one call grows in it, and goes with it.
TEST_F(EventLeaks, OfACacheWithinACallAreNone) {
  for (std::uint64_t call = 0; call < 20; ++call) {
    builder.begin("generate");
    for (std::uint64_t token = 0; token < 16; ++token) builder.begin("eval"), left(token), builder.end("eval");
    for (std::uint64_t token = 0; token < 16; ++token) builder.death(address(token));
    builder.end("generate");
  }
  EXPECT_TRUE(found().empty());
}

TEST_F(EventLeaks, OfTheLastFewEventsAreNone) {
  for (const int kept : {3, 8}) {
    SCOPED_TRACE(kept);
    train(60, {}, [this, kept](int step) {
      if (step % 5 != 4) return;
      builder.begin("save");
      left(static_cast<std::uint64_t>(step));
      if (step >= 5 * kept) builder.death(address(static_cast<std::uint64_t>(step - 5 * kept)));
      builder.end("save");
    });
    EXPECT_TRUE(found().empty());
    builder = Builder();
    site = builder.python_frame("keep", "/home/u/train.py", 31, 0);
  }
}

TEST_F(EventLeaks, OfACacheThatFillsAreNone) {
  train(100, {}, [this](int step) {
    if (step % 5 != 4) return;
    builder.begin("eval");
    if (step < 50) left(static_cast<std::uint64_t>(step));
    builder.end("eval");
  });
  EXPECT_TRUE(found().empty());
}

// Layers that a program unfreezes one by one get their states then.
TEST_F(EventLeaks, OfStatesAreNone) {
  for (std::uint64_t step = 0; step < 100; ++step) {
    builder.begin("forward").birth(2, 40 * kMiB).death(2).end("forward").begin("step");
    if (step % 10 == 9) builder.tensor(address(step), kMiB, site);
    builder.end("step");
  }
  for (const Finding& one : found()) EXPECT_NE(one.id, "leak-per-event");
}

TEST_F(EventLeaks, OfLittleAreNone) {
  train(100, {}, [this](int step) {
    if (step % 5 != 4) return;
    builder.begin("eval").birth(address(static_cast<std::uint64_t>(step)), 48 << 10, format::Kind::heap, 0,
                                site);
    builder.end("eval");
  });
  EXPECT_TRUE(found().empty());
}

} // namespace
} // namespace memtrace::report
