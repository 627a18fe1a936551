// Purpose: what two instants differ in, against sums by hand.
#include "analyzer/explain/nothing_to_show.h"
#include "analyzer/print/json/diff_json.h"
#include "analyzer/print/text/diff_text.h"

#include <gtest/gtest.h>

#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::Builder;

using tests::kSignedMiB;

// A run of its own directory, whose stacks have ids in another order than another run's.
struct Job {
  explicit Job(const std::string& home, std::uint32_t line, bool other_order = false) {
    const auto weights_site = [&] {
      weights = builder.python_frame("build", home + "/lib/python3/site-packages/m/net.py", 7, 0);
    };
    const auto cache_site = [&] {
      cache = builder.python_frame("warm", home + "/lib/python3/site-packages/m/cache.py", line, 0);
    };
    if (other_order) cache_site();
    weights_site();
    if (!other_order) cache_site();
    more = builder.python_frame("more", home + "/lib/python3/site-packages/m/more.py", 1, 0);
  }

  ProcessAnalysis& open() {
    tests::write_file(scratch.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    analysis_ = analyze_process(std::move(trace), "main", std::move(end), Options{});
    return *analysis_;
  }

  Builder builder;
  std::uint32_t weights = 0, cache = 0, more = 0;

 private:
  tests::Scratch scratch;
  std::unique_ptr<ProcessAnalysis> analysis_;
};

std::int64_t sum(const Diff& diff) {
  std::int64_t out = 0;
  for (const DiffRow& row : diff.rows) out += row.change();
  return out;
}

const DiffRow* row_at(const Diff& diff, const std::string& where) {
  for (const DiffRow& row : diff.rows)
    if (row.analysis != nullptr && row.stack != format::StackId{} &&
        row.analysis->symbolizer->site(row.stack).where.rfind(where, 0) == 0)
      return &row;
  return nullptr;
}

// What only the first step holds: a cache of 30 MiB; 8 bytes of small blocks more in each step.
void train(Job& run) {
  Builder& b = run.builder;
  b.begin("load").birth(1 << 20, 100 * kSignedMiB, format::Kind::heap, 0, run.weights).end("load");
  for (int step = 0; step < 6; ++step) {
    b.begin("forward");
    if (step == 0) b.birth(1 << 30, 30 * kSignedMiB, format::Kind::heap, 0, run.cache);
    b.birth(2 << 20, 2 * kSignedMiB, format::Kind::heap, 0, run.more).death(2 << 20).end("forward");
    b.begin("step");
    if (step == 0) b.death(1 << 30);
    b.counters(8, 0, 1, 0).end("step");
  }
}

TEST(Diff, FirstStepAgainstSteady) {
  Job run("/home/a", 20);
  train(run);
  ProcessAnalysis& analysis = run.open();
  const Diff diff = difference({}, first_step(analysis, {}, ""), steady_step(analysis, {}, ""));
  EXPECT_EQ(diff.a.peak.bytes, 132 * kSignedMiB);
  EXPECT_LT(diff.b.peak.bytes - 102 * kSignedMiB, 64);
  EXPECT_EQ(sum(diff), diff.total());
  ASSERT_FALSE(diff.rows.empty());
  const DiffRow& first = diff.rows.front();
  EXPECT_EQ(analysis.symbolizer->site(first.stack).where, "m/cache.py:20");
  EXPECT_EQ(first.a, 30 * kSignedMiB);
  EXPECT_EQ(first.b, 0);
  EXPECT_EQ(first.phase, "forward");
  EXPECT_EQ(row_at(diff, "m/net.py")->change(), 0);
  EXPECT_EQ(diff.rows.back().b, 2 * kSignedMiB) << "of what did not change the smallest";
}

TEST(Diff, TwoStepsAndTwoPhases) {
  Job run("/home/a", 20);
  train(run);
  ProcessAnalysis& analysis = run.open();
  const Diff steps = difference({}, one_place(analysis, {}, replay::Step{0}, "step"),
                                one_place(analysis, {}, replay::Step{3}, "step"));
  EXPECT_EQ(steps.a.peak.bytes, 130 * kSignedMiB);
  EXPECT_EQ(steps.b.peak.bytes, 100 * kSignedMiB + 4 * 8);
  EXPECT_EQ(sum(steps), steps.total());
  EXPECT_EQ(row_at(steps, "m/cache.py")->change(), -30 * kSignedMiB);
  const Diff phases =
      difference({}, one_place(analysis, {}, {}, "load"), one_place(analysis, {}, {}, "forward"));
  EXPECT_EQ(phases.total(), 32 * kSignedMiB);
  EXPECT_EQ(row_at(phases, "m/more.py")->b, 2 * kSignedMiB);
  EXPECT_EQ(one_place(analysis, {}, {}, "update").peak.bytes, one_place(analysis, {}, {}, "step").peak.bytes)
      << "texts call the phase `step` so";
  const auto refusal = [&](std::optional<replay::Step> step, const std::string& phase) {
    try {
      one_place(analysis, {}, step, phase);
    } catch (const NothingToShow& refused) {
      return std::string(refused.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal(replay::Step{99}, ""), "step 99: not in this trace; it has steps 0..5 in detail");
  EXPECT_EQ(refusal(replay::Step{99}, "step"), "update 99: not in this trace; it has steps 0..5 in detail");
  EXPECT_EQ(refusal({}, "backward"),
            "backward: no phase of this trace has this name; it has load, forward, update");
}

// The report, an explanation and a comparison call one block by one name.
TEST(Diff, BlocksHaveTheirNamesOfTheReport) {
  Job run("/home/a", 20);
  Builder& b = run.builder;
  const std::uint32_t read =
      b.python_frame("load", "/home/a/lib/python3/site-packages/torch/serialization.py", 9, run.weights);
  b.begin("load").tensor(1 << 20, 128 * kSignedMiB,
                         read); // it did not end, so the tensor is not a parameter yet
  b.tensor(1 << 30, 4 * kSignedMiB, run.cache).birth(2 << 20, 8 * kSignedMiB);
  ProcessAnalysis& analysis = run.open();
  const Diff diff = difference({}, whole_run(analysis, {}, "a"), whole_run(analysis, {}, "b"));
  std::vector<std::string> uses;
  for (const DiffRow& row : diff.rows) uses.push_back(row.use);
  EXPECT_EQ(uses, (std::vector<std::string>{"state dict", "heap", "tensor"}));
  const std::string text = diff_text(diff, 10, {});
  EXPECT_NE(text.find("  state dict       load "), std::string::npos) << text;
}

// The second run maps its parameters from a file, so they are not blocks of an allocator.
TEST(Diff, ParametersOfAMappedFileAreNoSaving) {
  const auto trained = [](Job& run, bool allocated) {
    Builder& b = run.builder;
    const auto labelled = [&](std::uint64_t address, const char* role) {
      b.tensor(address, 64 * kSignedMiB, run.weights);
      b.put(format::EventType::label, 0, 0, {address, 64 * kSignedMiB, b.text(role)});
    };
    b.begin("load");
    if (allocated) labelled(1 << 20, "parameter");
    b.end("load").begin("forward").end("forward").begin("backward");
    labelled(1 << 30, "gradient");
    b.end("backward").begin("step").end("step");
  };
  Job one("/home/a", 20), other("/home/b", 20);
  trained(one, true);
  trained(other, false);
  ProcessAnalysis &a = one.open(), &b = other.open();
  const auto text = [](ProcessAnalysis& x, ProcessAnalysis& y) {
    return diff_text(difference({}, whole_run(x, {}, "a"), whole_run(y, {}, "b")), 10, {});
  };
  EXPECT_NE(text(a, b).find("\n  b: No row has the parameters,"), std::string::npos) << text(a, b);
  EXPECT_NE(text(b, a).find("\n  a: No row has the parameters,"), std::string::npos) << text(b, a);
  EXPECT_EQ(text(a, a).find("No row has the parameters"), std::string::npos) << text(a, a);
}

TEST(Diff, TwoRunsAreMatchedByTheirStacksNames) {
  Job a("/home/a", 20), b("/opt/env", 25, true); // another place, other ids, a line that moved
  a.builder.begin("load").birth(1 << 20, 100 * kSignedMiB, format::Kind::heap, 0, a.weights);
  a.builder.birth(1 << 30, 30 * kSignedMiB, format::Kind::heap, 0, a.cache).counters(500, 0, 5, 0).end("load");
  b.builder.begin("load").birth(1 << 20, 60 * kSignedMiB, format::Kind::heap, 0, b.weights);
  b.builder.birth(1 << 30, 35 * kSignedMiB, format::Kind::heap, 0, b.cache);
  b.builder.birth(2 << 30, 3 * kSignedMiB, format::Kind::heap, 0, b.more).end("load");
  ProcessAnalysis &view_a = a.open(), &view_b = b.open();
  const Diff diff = difference({}, whole_run(view_a, {}, "a"), whole_run(view_b, {}, "b"));
  EXPECT_EQ(diff.total(), (60 + 35 + 3 - 100 - 30) * kSignedMiB - 500);
  EXPECT_EQ(sum(diff), diff.total());
  EXPECT_EQ(row_at(diff, "m/net.py")->a, 100 * kSignedMiB);
  EXPECT_EQ(row_at(diff, "m/net.py")->b, 60 * kSignedMiB);
  EXPECT_EQ(row_at(diff, "m/cache.py")->a, 30 * kSignedMiB) << "alike but for the line";
  EXPECT_EQ(row_at(diff, "m/cache.py")->b, 35 * kSignedMiB);
  EXPECT_EQ(row_at(diff, "m/more.py")->change(), 3 * kSignedMiB);
  const Json json = diff_json(diff, 1);
  ASSERT_EQ(json["rows"].size(), 2u) << "the largest, and the rest in one";
  EXPECT_EQ(json["rows"][0]["change"].get<std::int64_t>() + json["rows"][1]["change"].get<std::int64_t>(),
            json["total"].get<std::int64_t>());
  const std::string text = diff_text(diff, 20, {});
  EXPECT_NE(text.find("m/net.py:7"), std::string::npos) << text;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(end - at, 100u) << text.substr(at, end - at);
    at = end + 1;
  }
}

// A line was inserted above, in a copy of the script in another folder. Both lines call the same function.
TEST(Diff, LinesOfAnEditedScriptAreMatchedInTheirOrder) {
  const auto train = [](Job& run, const std::string& folder, std::uint32_t moved, std::int64_t second) {
    Builder& b = run.builder;
    const std::uint32_t one = b.python_frame("<module>", folder + "/train.py", 10 + moved, 0);
    const std::uint32_t two = b.python_frame("<module>", folder + "/train.py", 11 + moved, 0);
    b.begin("load").birth(1 << 20, 40 * kSignedMiB, format::Kind::heap, 0, one);
    b.birth(1 << 30, second * kSignedMiB, format::Kind::heap, 0, two).end("load");
  };
  Job a("/home/a", 20), b("/home/a", 20);
  train(a, "/home/a/first", 0, 70);
  train(b, "/home/a/copy", 1, 50);
  const Diff diff = difference({}, whole_run(a.open(), {}, "a"), whole_run(b.open(), {}, "b"));
  ASSERT_EQ(diff.rows.size(), 2u);
  EXPECT_EQ(diff.rows[0].a, 70 * kSignedMiB);
  EXPECT_EQ(diff.rows[0].b, 50 * kSignedMiB);
  EXPECT_EQ(diff.rows[1].change(), 0);
}

TEST(Diff, ReservationsThatWereNeverTouchedAreLeftOut) {
  Job a("/home/a", 20), b("/home/a", 20);
  a.builder.begin("load").birth(1 << 20, 40 * kSignedMiB, format::Kind::heap, 0, a.weights).end("load");
  b.builder.begin("load").birth(1 << 20, 40 * kSignedMiB, format::Kind::heap, 0, b.weights);
  b.builder.birth(0x100000000, 64 * kSignedMiB, format::Kind::mmap_anon, 0, b.cache);
  b.builder.put(format::EventType::sample_touched, 0, 0,
                {0x100000000, b.builder.now(), 64 << 20, 0, b.builder.now()});
  b.builder.end("load");
  const Diff diff = difference({}, whole_run(a.open(), {}, "a"), whole_run(b.open(), {}, "b"));
  EXPECT_EQ(diff.total(), 0);
  EXPECT_EQ(sum(diff), 0);
  EXPECT_NE(
      diff_text(diff, 20, {}).find("Reserved and never touched, not counted above: 0.00 MiB and 64.00 MiB"),
      std::string::npos);
}

TEST(Diff, OnADeviceTensorsAreComparedNotSegments) {
  Job run("/home/a", 20);
  Builder& b = run.builder;
  constexpr std::uint16_t kCard = 1 << format::kMemoryShift;
  const auto block = [&](std::uint64_t address, std::uint64_t bytes, std::uint32_t stack) {
    b.birth(address, 0, format::Kind::none, kCard | format::kTensor, stack, bytes);
  };
  b.begin("load").birth(1 << 30, 200 * kSignedMiB, format::Kind::device, kCard, run.weights, 200 * kSignedMiB);
  block(1 << 30, 50 * kSignedMiB, run.weights);
  b.end("load").begin("forward");
  block((1 << 30) + 100 * kSignedMiB, 20 * kSignedMiB, run.cache);
  b.end("forward").exit(0);
  ProcessAnalysis& analysis = run.open();
  const Compared of = compared_in(analysis, 1);
  EXPECT_EQ(of.measure, replay::Measure::tensor);
  const Diff diff = difference(of, one_place(analysis, of, {}, "load"), one_place(analysis, of, {}, "forward"));
  EXPECT_EQ(diff.total(), 20 * kSignedMiB) << "the segment is the same";
  EXPECT_EQ(sum(diff), diff.total());
  EXPECT_EQ(row_at(diff, "m/cache.py")->change(), 20 * kSignedMiB);
  EXPECT_EQ(row_at(diff, "m/net.py")->b, 50 * kSignedMiB);
  EXPECT_EQ(diff_json(diff, 5)["measure"], "tensor");
}

} // namespace
} // namespace memtrace::report
