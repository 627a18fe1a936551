// Purpose: the text of a report: its width, its first lines, and what it says of losses.
#include <cstddef>
#include <cstring>
#include <sstream>

#include "analyzer/print/text/job_text.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"
#include "report_fixture.h"

namespace memtrace::report {
namespace {

using tests::Builder;
using tests::Scratch;

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

TEST_F(Report, IsTheSameTwice) {
  Builder builder = training();
  EXPECT_EQ(json(builder).dump(), json(builder).dump());
  EXPECT_EQ(text(builder), text(builder));
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

// An import of PyTorch took two of the three places, and the line that counted had none.
TEST_F(Report, ImportsTakeNoPlaceOfALine) {
  Builder builder;
  const auto line = [&](std::uint32_t number) {
    return builder.python_frame("main", "/home/u/train.py", number, 0);
  };
  for (std::uint32_t number = 1; number <= 2; ++number) {
    const auto find =
        builder.python_frame("_find_and_load", "<frozen importlib._bootstrap>", 1176, line(number));
    const auto module =
        builder.python_frame("<module>", "/v/lib/python3.11/site-packages/torch/__init__.py", 9, find);
    builder.birth(number, 100 * kMiB, format::Kind::heap, 0, module);
  }
  for (std::uint32_t number = 3; number <= 5; ++number)
    builder.birth(number, number * 10 * kMiB, format::Kind::heap, 0, line(number));
  EXPECT_NE(
      text(builder).find("by your line: train.py:5 50.00 MiB, train.py:4 40.00 MiB, train.py:3 30.00 MiB;\n"
                         "imports 200.00 MiB\n"),
      std::string::npos)
      << text(builder);
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
