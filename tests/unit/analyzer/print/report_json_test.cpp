// Purpose: keys and sums of the report as JSON.
#include <map>
#include <sstream>

#include "report_fixture.h"

namespace memtrace::report {
namespace {

using tests::Builder;

using Keys = std::vector<std::string>;

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> out;
  for (const auto& [key, value] : object.items()) out.push_back(key);
  return out;
}

Keys keys_of_process() {
  return {"pid",
          "ppid",
          "host",
          "exe",
          "argv",
          "kind",
          "rank",
          "local_rank",
          "coordinates",
          "devices",
          "start_unix",
          "duration",
          "end",
          "trace",
          "parameters",
          "phases",
          "phase_peaks",
          "peaks",
          "snapshots",
          "snapshots_left_out",
          "ledger",
          "headroom",
          "bytes_per_parameter",
          "cycles",
          "rare_steps",
          "sites",
          "findings"};
}

TEST_F(Report, HasTheKeysOfTheContractInItsOrder) {
  Builder builder = training();
  const Json out = json(builder);
  EXPECT_EQ(keys(out), (Keys{"schema", "job", "processes", "findings", "outliers"}));
  EXPECT_EQ(out["schema"], "memtrace.report/1");
  EXPECT_EQ(keys(out["job"]), (Keys{"id", "attempt", "launcher", "world_size"}));
  const Json& process = out["processes"][0];
  EXPECT_EQ(keys(process), keys_of_process());
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
      Keys wanted{"bytes", "asked",      "blocks",    "kind",     "role", "module",
                  "site",  "born_phase", "born_step", "lifetime", "how"};
      if (!row["born_phase"].is_null()) wanted.push_back("resident"); // else it is what no record tells of
      EXPECT_EQ(keys(row), wanted);
      if (row["site"].is_null()) continue;
      EXPECT_EQ(keys(row["site"]), (Keys{"id", "frames"}));
      const Json& frame = row["site"]["frames"][0];
      Keys of_frame{"function", "file", "line", "module", "lang"};
      if (frame.contains("own")) of_frame.push_back("own");
      EXPECT_EQ(keys(frame), of_frame);
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

TEST_F(Report, SaysWhichFramesAreTheUsersOwnCode) {
  Builder builder;
  builder.note("python-library=/v/lib/python3.11/site-packages").note("python-path=/opt/packages");
  std::uint32_t stack = builder.python_frame("main", "/home/u/train.py", 3, 0);
  stack = builder.python_frame("load", "/opt/packages/pyarrow/__init__.py", 59, stack);
  stack = builder.python_frame("inner", "/v/lib/python3.11/site-packages/numpy/core.py", 7, stack);
  stack = builder.native_frame(0x1000, stack);
  builder.birth(1, 1 << 20, format::Kind::heap, 0, stack).exit(0);
  Document document(options);
  document.add(open(builder), {});
  const Json process = tests::parsed(std::move(document))["processes"][0];
  ASSERT_EQ(process["sites"].size(), 1u);
  std::map<std::string, bool> own;
  for (const auto& [id, site] : process["sites"].items())
    for (const Json& frame : site["frames"])
      own[frame["function"].get<std::string>()] = frame.value("own", false);
  EXPECT_EQ(own.size(), 4u);
  for (const auto& [function, is_own] : own) EXPECT_EQ(is_own, function == "main") << function;
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

TEST_F(Report, TellsHowTheProcessEnded) {
  const auto how = [&](Builder builder) { return json(builder)["processes"][0]["end"].dump(); };
  EXPECT_EQ(how(Builder().exit(3)), R"({"how":"exit","code":3,"evidence":[]})");
  EXPECT_EQ(how(Builder().exit(9, format::EndHow::signal)), R"({"how":"signal","code":9,"evidence":[]})");
  EXPECT_EQ(how(Builder().exit(0, format::EndHow::exec)), R"({"how":"exec","code":0,"evidence":[]})");
  EXPECT_EQ(how(Builder().put(format::EventType::exec, 0, 0, {1})), R"({"how":"exec","code":0,"evidence":[]})");
  EXPECT_EQ(how(Builder().put(format::EventType::exec, 0, 0, {1}).birth(1, 1)),
            R"({"how":"unknown","code":0,"evidence":[]})");
}

TEST_F(Report, APhaseTellsTheReservationsInItsPeak) {
  Builder builder;
  const std::uint32_t line = builder.python_frame("<module>", "/home/u/train.py", 3, 0);
  builder.birth(0x100000000, 64 << 20, format::Kind::mmap_anon, 0, line);
  builder.put(format::EventType::sample_touched, 0, 0,
              {0x100000000, builder.now(), 64 << 20, 0, builder.now()});
  for (std::uint64_t step = 0; step < 3; ++step) // the highest is the second
    builder.begin("work")
        .birth(step + 1, (step == 1 ? 9 : 8) << 20, format::Kind::heap, 0, line)
        .death(step + 1)
        .end("work");
  builder.exit(0);
  const Json process = json(builder)["processes"][0];
  ASSERT_EQ(process["phase_peaks"].size(), 1u);
  const Json& live = process["phase_peaks"][0]["live"];
  EXPECT_EQ(live["bytes"], (64 + 9) << 20);
  EXPECT_EQ(live["reserved_untouched"], 64 << 20);
}

} // namespace
} // namespace memtrace::report
