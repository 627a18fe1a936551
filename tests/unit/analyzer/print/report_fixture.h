// Purpose: small trainings and the two renderings of their report, for the tests of both.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "analyzer/findings/all_findings.h"
#include "analyzer/print/json/document.h"
#include "analyzer/print/text/report_text.h"
#include "analyzer/wording/text_lines.h"
#include "builder.h"
#include "parsed.h"

namespace memtrace::report {

// Three training steps with everything in them that a report shows.
inline tests::Builder training() {
  tests::Builder builder;
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

// Two copies before training, then three steps of 340 MiB.
inline tests::Builder prepared() {
  tests::Builder builder;
  const std::uint32_t copies = builder.python_frame("main", "/home/u/train.py", 3, 0);
  const std::uint32_t table = builder.python_frame("main", "/home/u/train.py", 9, 0);
  const std::uint64_t mib = 1 << 20;
  builder.birth(1, 400 * mib, format::Kind::heap, 0, copies).birth(2, 400 * mib, format::Kind::heap, 0, copies);
  builder.death(1).death(2).birth(3, 300 * mib, format::Kind::heap, 0, table);
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

inline std::string unwrapped(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// Returns the text up to the findings, without the line breaks of wrapped text.
inline std::string first_line(std::string text) {
  text.resize(text.find("\nNo finding"));
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

class Report : public testing::Test {
 protected:
  ProcessAnalysis& open(tests::Builder& builder) {
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    analysis_ = analyze_process(std::move(trace), "main", std::move(end), options);
    return *analysis_;
  }
  Json json(tests::Builder& builder) {
    Document document(options);
    ProcessAnalysis& analysis = open(builder);
    document.add(analysis, find(analysis));
    return tests::parsed(std::move(document));
  }
  std::string text(tests::Builder& builder) {
    ProcessAnalysis& analysis = open(builder);
    return process_text(analysis, find(analysis), options, look);
  }
  Options options;
  TextStyle look;

  tests::Scratch scratch_;

 private:
  std::unique_ptr<ProcessAnalysis> analysis_;
};

} // namespace memtrace::report
