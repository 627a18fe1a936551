// Purpose: the two renderings: keys and sums of the JSON, width and first lines of the text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <sstream>

#include "analyzer/findings/all_findings.h"
#include "analyzer/print/json/document.h"
#include "analyzer/print/text/job_text.h"
#include "analyzer/print/text/report_text.h"
#include "analyzer/wording/text_lines.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"
#include "builder.h"
#include "parsed.h"

namespace memtrace::report {
namespace {

using tests::Builder;
using tests::Scratch;

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> out;
  for (const auto& [key, value] : object.items()) out.push_back(key);
  return out;
}

using Keys = std::vector<std::string>;

// Three training steps with everything in them that a report shows.
Builder training() {
  Builder builder;
  const std::uint32_t user = builder.python_frame("main", "/home/u/train.py", 3, 0);
  const std::uint32_t line = builder.python_frame("step", "/l/site-packages/torch/optim/adam.py", 790, user);
  const std::uint32_t native = builder.native_frame(0x1234, line);
  const std::uint64_t mib = 1 << 20;
  builder.begin("load")
      .tensor(1, 100 * mib, user)
      .sample(1, 2, 3, 4)
      .end("load")
      .parameters(25 << 20, 100 * mib, 1);
  for (std::uint64_t i = 0; i < 3; ++i) {
    builder.begin("forward").tensor(2, 40 * mib, user).counters(9000, 100, 7, 1).end("forward");
    builder.begin("backward").tensor(3, 100 * mib).tensor_death(2).end("backward");
    builder.begin("step").tensor(10, 60 * mib, native).birth(20 + i, 8192).tensor_death(10).end("step");
    builder.tensor_death(3);
  }
  builder.birth(0x4000000, mib, format::Kind::mmap_anon, 0, native);
  builder.exit(0);
  return builder;
}

class Report : public testing::Test {
 protected:
  ProcessAnalysis& open(Builder& builder) {
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    analysis_ = analyze_process(std::move(trace), "main", std::move(end), options);
    return *analysis_;
  }
  Json json(Builder& builder) {
    Document document(options);
    ProcessAnalysis& analysis = open(builder);
    document.add(analysis, find(analysis));
    return tests::parsed(std::move(document));
  }
  std::string text(Builder& builder) {
    ProcessAnalysis& analysis = open(builder);
    return process_text(analysis, find(analysis), options, look);
  }
  Options options;
  TextStyle look;

  Scratch scratch_;

 private:
  std::unique_ptr<ProcessAnalysis> analysis_;
};

// The trace has 2 of 3 blocks; the recorder counted 24,000 bytes, and 30,000 a moment before.
TEST_F(Report, OfAKillWhileRecordingBeginsTheRecordersCountIsAdmitted) {
  Builder builder;
  builder.birth(1, 8192).birth(2, 8192);
  std::string rings = tests::ring_file({});
  const auto put = [&rings](std::size_t offset, std::uint64_t value) {
    std::memcpy(rings.data() + offset, &value, sizeof value);
  };
  put(offsetof(format::RingFileHeader, live), 24'000);
  put(offsetof(format::RingFileHeader, beginning), 30'000);
  put(offsetof(format::RingFileHeader, beginning_small), 100);
  tests::write_file(scratch_.file("t.rings"), rings);
  const std::string said = text(builder);
  EXPECT_NE(said.find("ends while recording began"), std::string::npos) << said;
  const Json error = json(builder)["processes"][0]["trace"]["error"]["live"];
  const std::uint64_t rough = 100 + 64 * 1024 + 30'000 / 32;
  EXPECT_EQ(error["above"], 30'000 - 2 * 8192 + rough);
  EXPECT_EQ(error["below"], rough);
}

TEST_F(Report, OfAKillWhatThreadsWithoutASlotMayHaveCountedIsAdmitted) {
  Builder builder;
  builder.birth(1, 8192).birth(2, 8192);
  std::string rings = tests::ring_file({});
  const std::uint64_t uncounted_bound = 3 * 16 * 1024;
  std::memcpy(rings.data() + offsetof(format::RingFileHeader, uncounted_bound), &uncounted_bound,
              sizeof uncounted_bound);
  tests::write_file(scratch_.file("t.rings"), rings);
  const std::string said = text(builder);
  EXPECT_NE(said.find("threads that had not recorded yet"), std::string::npos) << said;
  const Json error = json(builder)["processes"][0]["trace"]["error"];
  EXPECT_EQ(error["live"]["above"], uncounted_bound);
  EXPECT_EQ(error["peak"]["below"], uncounted_bound);
}

TEST_F(Report, OfAKillAHigherLevelBeforeRecordingBeganIsAdmitted) {
  Builder builder;
  builder.birth(1, 8192);
  std::string rings = tests::ring_file({});
  const std::uint64_t highest_before = 8192 + 5000;
  std::memcpy(rings.data() + offsetof(format::RingFileHeader, highest_before), &highest_before,
              sizeof highest_before);
  tests::write_file(scratch_.file("t.rings"), rings);
  const Json error = json(builder)["processes"][0]["trace"]["error"];
  EXPECT_EQ(error["peak"]["above"], 5000);
  EXPECT_EQ(error["live"]["above"], 0);
}

TEST_F(Report, WhatAPhaseTookAndGaveBackIsToldWithItsLine) {
  Builder builder = training();
  const std::string said = text(builder);
  const std::size_t at = said.find("Temporary in update");
  ASSERT_NE(at, std::string::npos) << said;
  EXPECT_NE(said.find("60.00 MiB", at), std::string::npos) << said;
  EXPECT_NE(said.find("optim/adam.py:790, alive", at), std::string::npos) << said;
  EXPECT_EQ(said.find("Temporary in forward"), std::string::npos) << "what it made outlives it";
}

TEST_F(Report, HasTheKeysOfTheContractInItsOrder) {
  Builder builder = training();
  const Json out = json(builder);
  EXPECT_EQ(keys(out), (Keys{"schema", "job", "processes", "findings", "outliers"}));
  EXPECT_EQ(out["schema"], "memtrace.report/1");
  EXPECT_EQ(keys(out["job"]), (Keys{"id", "attempt", "launcher", "world_size"}));
  const Json& process = out["processes"][0];
  EXPECT_EQ(keys(process),
            (Keys{"pid",   "ppid",       "host",    "exe",        "argv",     "kind",
                  "rank",  "local_rank", "devices", "start_unix", "duration", "end",
                  "trace", "parameters", "phases",  "peaks",      "ledger",   "bytes_per_parameter",
                  "sites", "findings"}));
  EXPECT_EQ(keys(process["end"]), (Keys{"how", "code", "evidence"}));
  Keys trace = keys(process["trace"]);
  trace.resize(9);
  EXPECT_EQ(trace, (Keys{"bytes", "events", "lost_events", "lost_reasons", "coarsened_events", "live_error",
                         "exact_min", "sample_bytes", "device_source"}));
  EXPECT_EQ(keys(process["parameters"]), (Keys{"count", "trainable", "bytes", "tensors", "by_dtype"}));
  bool seen_row = false;
  for (const Json& phase : process["phases"]) {
    if (phase["phase"] == "other") {
      EXPECT_EQ(keys(phase), (Keys{"memory", "phase", "path", "step", "count", "bucket", "allocated", "freed",
                                   "allocations"}));
      continue;
    }
    EXPECT_EQ(keys(phase), (Keys{"memory", "phase", "path", "step", "count", "bucket", "entry_live",
                                 "exit_live", "peak_live", "transient", "net", "allocated", "freed",
                                 "allocations", "tensor", "rss", "reserved", "used", "at_peak"}));
    EXPECT_EQ(keys(phase["tensor"]),
              (Keys{"entry_live", "exit_live", "peak_live", "transient", "net", "at_peak"}));
    for (const Json& row : phase["at_peak"]) {
      seen_row = true;
      Keys wanted{"bytes", "asked",      "blocks",    "kind",     "role",
                  "site",  "born_phase", "born_step", "lifetime", "how"};
      if (!row["born_phase"].is_null()) wanted.push_back("resident"); // else it is what no record tells of
      EXPECT_EQ(keys(row), wanted);
      if (row["site"].is_null()) continue;
      EXPECT_EQ(keys(row["site"]), (Keys{"id", "frames"}));
      EXPECT_EQ(keys(row["site"]["frames"][0]), (Keys{"function", "file", "line", "module", "lang"}));
    }
  }
  EXPECT_TRUE(seen_row);
  for (const Json& peak : process["peaks"]) {
    Keys wanted{"memory", "measure", "bytes", "t", "phase", "step", "at_peak"};
    if (peak["measure"] == "live") wanted.push_back("reserved_untouched");
    EXPECT_EQ(keys(peak), wanted);
  }
}

TEST_F(Report, EverySetAddsUpToItsPeak) {
  Builder builder = training();
  for (const std::size_t top : {std::size_t{0}, std::size_t{1}, std::size_t{20}}) {
    options.top = top;
    const Json out = json(builder);
    const auto sum = [](const Json& rows) {
      std::int64_t bytes = 0;
      for (const Json& row : rows) bytes += row["bytes"].get<std::int64_t>();
      return bytes;
    };
    for (const Json& phase : out["processes"][0]["phases"]) {
      if (!phase.contains("peak_live")) continue;
      EXPECT_EQ(sum(phase["at_peak"]), phase["peak_live"]);
      EXPECT_EQ(sum(phase["tensor"]["at_peak"]), phase["tensor"]["peak_live"]);
    }
    for (const Json& peak : out["processes"][0]["peaks"]) {
      if (peak["measure"] == "rss") continue;
      EXPECT_EQ(sum(peak["at_peak"]), peak["bytes"]);
    }
  }
}

// Replaces each site by the one that `sites` has under its id.
void resolve(Json& value, const Json& sites) {
  if (value.is_object() && value.contains("site") && value["site"].is_object())
    value["site"] = sites.at(value["site"]["id"].get<std::string>());
  if (value.is_structured())
    for (Json& part : value) resolve(part, sites);
}

TEST_F(Report, CompactHasTheSameOnceItsSitesAreResolved) {
  Builder builder = training();
  const Json whole = json(builder);
  options.compact = true;
  Json compact = json(builder);
  EXPECT_LT(json_line(compact).size(), json_line(whole).size());
  for (Json& process : compact["processes"]) {
    EXPECT_GE(process["sites"].size(), 2u);
    const Json sites = process["sites"];
    resolve(process, sites);
  }
  EXPECT_EQ(compact.dump(), whole.dump());
}

TEST_F(Report, EachProcessHasItsOwnSites) {
  Document document(options);
  Builder one = training();
  ProcessAnalysis& first = open(one);
  Finding finding;
  finding.id = "oom-kill";
  for (const auto& [instant, alive] : first.sets)
    for (const replay::Holding& holding : alive)
      if (holding.stack != format::StackId{}) finding.site = holding.stack;
  document.add(first, {finding});
  Builder other;
  other.birth(1, 8192, format::Kind::heap, 0, other.python_frame("f", "/home/u/other.py", 1, 0)).exit(0);
  document.add(open(other), {});
  const Json processes = tests::parsed(std::move(document))["processes"];
  EXPECT_TRUE(processes[0]["sites"].contains(processes[0]["findings"][0]["site"]["id"].get<std::string>()));
  EXPECT_EQ(processes[1]["sites"].size(), 1u) << processes[1]["sites"].dump();
}

TEST_F(Report, SelectsSteps) {
  Builder builder;
  for (int i = 0; i < 9; ++i)
    builder.begin("forward").tensor(1, 100).tensor_death(1).end("forward").begin("step").end("step");
  const auto steps = [&] {
    std::vector<std::string> out;
    const Json report = json(builder);
    for (const Json& phase : report["processes"][0]["phases"]) {
      if (phase["phase"] == "forward") out.push_back(phase["step"].dump());
    }
    return out;
  };
  EXPECT_EQ(steps(), (std::vector<std::string>{"0", "1", "8", "\"steady\""}));
  options.steps.range = replay::StepRange{3, 5};
  EXPECT_EQ(steps(), (std::vector<std::string>{"3", "4", "5"}));
  options.steps = {{}, true};
  EXPECT_EQ(steps().size(), 9u);
}

TEST_F(Report, IsTheSameTwice) {
  Builder builder = training();
  EXPECT_EQ(json(builder).dump(), json(builder).dump());
  EXPECT_EQ(text(builder), text(builder));
}

TEST_F(Report, TellsHowTheProcessEnded) {
  const auto how = [&](Builder builder) { return json(builder)["processes"][0]["end"].dump(); };
  EXPECT_EQ(how(Builder().exit(3)), R"({"how":"exit","code":3,"evidence":[]})");
  EXPECT_EQ(how(Builder().exit(9, format::EndHow::signal)), R"({"how":"signal","code":9,"evidence":[]})");
  EXPECT_EQ(how(Builder().exit(0, format::EndHow::exec)), R"({"how":"exec","code":0,"evidence":[]})");
  EXPECT_EQ(how(Builder().put(format::EventType::exec, 0, 0, {1})), R"({"how":"exec","code":0,"evidence":[]})");
  EXPECT_EQ(how(Builder().put(format::EventType::exec, 0, 0, {1}).birth(1, 1)),
            R"({"how":"unknown","code":0,"evidence":[]})");
}

TEST_F(Report, TakesBytesThatAreNoText) {
  Builder builder;
  const std::uint32_t frame = builder.python_frame("f\xff", "/\xc3(/\xed\xa0\x80.py", 1, 0);
  builder.begin("na\xfeme\x1b[31m").tensor(1, 1 << 20, frame).end("na\xfeme\x1b[31m");
  const std::string document = json_text(json(builder));
  EXPECT_EQ(json_text(Json::parse(document)), document) << "as a strict parser reads it";
  const std::string out = text(builder);
  EXPECT_EQ(out.find('\x1b'), std::string::npos) << "a name must not steer the terminal";
  EXPECT_NO_THROW(Json(out).dump()) << "nlohmann refuses bytes that are not UTF-8";
}

TEST_F(Report, NoLineIsWiderThanAHundredColumns) {
  Builder builder = training();
  const std::string longer(300, 'x');
  const std::uint32_t frame = builder.python_frame(longer, "/" + longer + "/" + longer + ".py", 123456, 0);
  builder.begin(longer).begin(longer).tensor(77, 900ull << 40, frame).end(longer).end(longer);
  look.holders = 1000;
  const ProcessSummary summary = summary_of(open(builder), {}, false);
  std::istringstream lines(text(builder) + others_text({summary, summary}, 0, {}));
  std::string line;
  std::size_t number = 0;
  while (std::getline(lines, line)) {
    EXPECT_LE(columns(line), Screen{}.columns) << line;
    ++number;
  }
  EXPECT_GT(number, 15u);
}

// Returns the text up to the findings, without the line breaks of wrapped text.
std::string first_line(std::string text) {
  text.resize(text.find("\nNo finding"));
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

TEST_F(Report, TheFirstLineIsTheProcessAndItsPeak) {
  Builder builder = training();
  const std::string said = first_line(text(builder));
  EXPECT_NE(said.find("finished after"), std::string::npos) << said;
  EXPECT_NE(said.find("tensors 260.00 MiB at most, in update 0"), std::string::npos) << said;
  Builder heap;
  heap.birth(1, 5 << 20);
  const std::string other = first_line(text(heap));
  EXPECT_NE(other.find("allocated 5.00 MiB at most, outside training"), std::string::npos) << other;
}

TEST_F(Report, TheUsersLineOfTheMostIsBelowIt) {
  Builder builder = training();
  EXPECT_NE(text(builder).find("Largest at the peak, by your line: train.py:3 160.00 MiB"), std::string::npos)
      << text(builder);
}

// Two copies before training, then three steps of 340 MiB.
Builder prepared() {
  Builder builder;
  const std::uint32_t copies = builder.python_frame("main", "/home/u/train.py", 3, 0);
  const std::uint32_t table = builder.python_frame("main", "/home/u/train.py", 9, 0);
  const std::uint64_t mib = 1 << 20;
  builder.birth(1, 400 * mib, Kind::heap, 0, copies).birth(2, 400 * mib, Kind::heap, 0, copies);
  builder.death(1).death(2).birth(3, 300 * mib, Kind::heap, 0, table);
  for (std::uint64_t i = 0; i < 3; ++i)
    builder.begin("forward")
        .tensor(4, 40 * mib, copies)
        .end("forward")
        .begin("step")
        .end("step")
        .tensor_death(4);
  builder.exit(0);
  return builder;
}

std::string unwrapped(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

TEST_F(Report, APeakOutsideTrainingHasARowAndTrainingItsLines) {
  Builder builder = prepared();
  const std::string out = text(builder);
  const std::string said = unwrapped(out);
  EXPECT_NE(
      said.find("No finding: memtrace found none of the causes that it looks for. It does not know whether "
                "your lines need what they hold."),
      std::string::npos)
      << out;
  EXPECT_NE(said.find("Largest at the peak, by your line: train.py:3 800.00 MiB (2 x 400.00 MiB) The peak is "
                      "outside the phases of training. While they run, 340.00 MiB are allocated at most, in "
                      "forward 0; largest then, "
                      "by your line: train.py:9 300.00 MiB, train.py:3 40.00 MiB"),
            std::string::npos)
      << out;
  const std::size_t row = out.find("\n  outside training");
  ASSERT_NE(row, std::string::npos) << out;
  EXPECT_LT(row, out.find("\n  forward"));
  const std::string cells = out.substr(row, out.find('\n', row + 1) - row);
  EXPECT_NE(cells.find(" 800.00 "), std::string::npos) << cells;
  EXPECT_NE(cells.find("heap 800.00"), std::string::npos) << cells;
}

// Returns the figures of the first line of the text that begins with `name`.
std::string row_of(const std::string& text, const std::string& name) {
  const std::size_t row = text.find("\n  " + name);
  return row == std::string::npos ? "" : text.substr(row + 1, text.find('\n', row + 1) - row - 1);
}

// The reservation is in no level of the text. It came in the second step, so it is not in those of the first.
TEST_F(Report, AReservationThatWasNeverTouchedIsInNoLevel) {
  Builder builder;
  const auto step = [&builder] {
    builder.begin("forward").birth(4, 40 << 20).end("forward").begin("step").end("step").death(4);
  };
  builder.birth(3, 300 << 20);
  step();
  builder.begin("data").birth(5, 10 << 20).birth(0x100000000, 64 << 20, Kind::mmap_anon);
  builder.put(format::EventType::sample_touched, 0, 0,
              {0x100000000, builder.now(), 64 << 20, 0, builder.now()});
  builder.end("data");
  step();
  const std::string out = text(builder);
  EXPECT_NE(unwrapped(out).find("allocated 350.00 MiB at most, in forward 1"), std::string::npos) << out;
  EXPECT_NE(row_of(out, "forward                0 ").find(" 300.00   340.00   340.00   +40.00      0.00"),
            std::string::npos)
      << out;
  EXPECT_NE(row_of(out, "data                   0 ").find(" 300.00   310.00   310.00   +10.00      0.00"),
            std::string::npos)
      << out;
  EXPECT_NE(row_of(out, "forward                1 ").find(" 310.00   350.00   350.00   +40.00      0.00"),
            std::string::npos)
      << out;
  EXPECT_EQ(out.find("414.00"), std::string::npos) << out;
  EXPECT_NE(out.find("Reserved and never touched, not counted above: 64.00 MiB"), std::string::npos) << out;
}

// In each step, one of two equal tensors is a temporary. malloc rounds up now the one and now the other.
TEST_F(Report, WhatAPhaseIsMostlyDoesNotDependOnTheAllocatorsRounding) {
  Builder builder;
  builder.birth(3, 300 << 20);
  for (const std::uint64_t rounding : {0, 32}) {
    const auto tensor = [&builder](std::uint64_t address, std::uint64_t more) {
      builder.birth(address, (8 << 20) + more, Kind::heap, format::kTensor, 0, 8 << 20);
    };
    builder.begin("forward");
    tensor(10, rounding);
    tensor(11, 32 - rounding);
    builder.tensor_death(10).end("forward").begin("step").end("step").tensor_death(11);
  }
  const std::string out = text(builder);
  for (const char* const row : {"forward                0 ", "forward                1 "})
    EXPECT_NE(row_of(out, row).find("activation 8.00"), std::string::npos) << out;
}

// VmHWM is above the highest sum that was sampled: it is the one figure, in the first line and in the ledger.
TEST_F(Report, ResidentAtMostIsOneFigure) {
  Builder builder;
  const std::uint64_t mib = 1 << 20;
  builder.birth(1, 90 * mib).sample(60 * mib, 20 * mib, 0, 100 * mib).exit(0);
  EXPECT_NE(unwrapped(text(builder)).find("resident 100.00 MiB at most"), std::string::npos) << text(builder);
  Builder reset;
  reset.birth(1, 90 * mib).sample(60 * mib, 20 * mib, 0, 10 * mib).exit(0);
  EXPECT_NE(unwrapped(text(reset)).find("resident 80.00 MiB at most"), std::string::npos) << text(reset);
}

TEST_F(Report, AReservationIsNamedBelowTheLevels) {
  Builder builder = prepared();
  builder.birth(0x100000000, 64 << 20, Kind::mmap_anon);
  builder.put(format::EventType::sample_touched, 0, 0,
              {0x100000000, builder.now(), 64 << 20, 0, builder.now()});
  builder.birth(0x200000000, 800 << 20);
  const std::string out = text(builder);
  EXPECT_NE(out.find("allocated 1100.00 MiB at most"), std::string::npos) << out;
  EXPECT_NE(out.find("\nReserved and never touched, not counted above: 64.00 MiB\n"), std::string::npos) << out;
  EXPECT_EQ(out.find("1164.00"), std::string::npos) << out;
}

TEST_F(Report, APeakInAPhaseHasNoRowOfItsOwn) {
  Builder builder = training();
  const std::string out = text(builder);
  EXPECT_EQ(out.find("\n  outside"), std::string::npos) << out;
  EXPECT_EQ(out.find("outside the phases"), std::string::npos) << out;
}

// The peak is after the phases of step 2: its row is below theirs.
TEST_F(Report, APeakBetweenPhasesIsARowOfItsStep) {
  Builder builder = training();
  builder.birth(0x9000000, 900 << 20);
  const std::string out = text(builder);
  const std::size_t row = out.find("\n  outside phases         2 ");
  ASSERT_NE(row, std::string::npos) << out;
  EXPECT_GT(row, out.find("\n  update                 2 "));
  EXPECT_LT(row, out.find("\n  forward                typical"));
  EXPECT_NE(unwrapped(out).find("The peak is outside the phases of training. While they run,"),
            std::string::npos)
      << out;
}

// 30 MiB of tensors beside 100 MiB of heap: the table is of all allocations.
TEST_F(Report, TensorsThatAreLessThanHalfAreNotTheTable) {
  Builder builder;
  builder.birth(1, 100 << 20).tensor(2, 30 << 20).exit(0);
  const std::string said = first_line(text(builder));
  EXPECT_NE(said.find("allocated 130.00 MiB at most"), std::string::npos) << said;
  EXPECT_NE(said.find("tensors 30.00 MiB at most"), std::string::npos) << said;
  Builder more;
  more.birth(1, 29 << 20).tensor(2, 30 << 20).exit(0);
  const std::string half = first_line(text(more));
  EXPECT_NE(half.find("tensors 30.00 MiB at most"), std::string::npos) << half;
  EXPECT_EQ(half.find("allocated"), std::string::npos) << half;
}

TEST_F(Report, SaysWhatWasLost) {
  Builder builder = training();
  builder.note("lost.disk=12");
  EXPECT_NE(text(builder).find("lost: 12 (disk 12)"), std::string::npos);
}

TEST_F(Report, ACutStackIsNoLostEvent) {
  Builder builder = training();
  builder.note("lost.stacks=3");
  EXPECT_NE(text(builder).find("lost: 0, stacks cut short: 3"), std::string::npos);
  const Json trace = json(builder)["processes"][0]["trace"];
  EXPECT_EQ(trace["lost_events"], 0);
  EXPECT_EQ(trace["cut_stacks"], 3);
}

TEST_F(Report, SaysThatPythonIsNotRead) {
  Builder builder = training();
  EXPECT_EQ(text(builder).find("Python"), std::string::npos);
  builder.note("python=unsupported 3.14.0t (main, Oct 7 2025) [GCC]");
  const std::string found = text(builder);
  EXPECT_NE(found.find("stacks are native only (Python: unsupported 3.14.0t)"), std::string::npos) << found;
}

TEST_F(Report, SaysThatNoRowHasTheParametersOfAMappedFile) {
  for (const bool mapped : {false, true}) {
    Builder builder = training();
    const auto label = [&](std::uint64_t address, const char* role) {
      builder.tensor(address, 100 << 20);
      builder.put(format::EventType::label, 0, 0, {address, 100 << 20, builder.text(role)});
    };
    builder.begin("backward");
    label(5, "gradient");
    if (!mapped) label(6, "parameter");
    builder.end("backward");
    const std::string found = unwrapped(text(builder));
    EXPECT_EQ(found.find("No row has the parameters") != std::string::npos, mapped) << found;
  }
}

TEST_F(Report, NamesFunctionsOfPyTorchThatWereNotFound) {
  Builder builder = training();
  EXPECT_EQ(text(builder).find("are missing"), std::string::npos);
  for (const char* name : {"a.b", "torch.optim.optimizer.step", "c", "d"})
    builder.note("python-unpatched=" + std::string(name) + " AttributeError('gone')");
  const std::string found = unwrapped(text(builder));
  EXPECT_NE(
      found.find("phases or roles are missing: this version of a package differs from what memtrace knows "
                 "(a.b, torch.optim.optimizer.step, c and 1 more)"),
      std::string::npos)
      << found;
}

TEST_F(Report, AnEmptyTraceIsAReport) {
  Builder builder;
  EXPECT_NE(text(builder).find("events: 0, lost: 0"), std::string::npos);
  EXPECT_EQ(json(builder)["processes"][0]["peaks"][0]["bytes"], 0);
}

} // namespace
} // namespace memtrace::report
