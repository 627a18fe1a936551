// Purpose: traces whose records were coded again without their texts.
#include "analyzer/pack/redact/redacted_records.h"

#include <gtest/gtest.h>

#include <cstring>

#include "analyzer/pack/redact/segment_records.h"
#include "analyzer/pack/redact/text_uses.h"
#include "analyzer/trace/trace.h"
#include "builder.h"

namespace memtrace::redact {
namespace {

using tests::Builder;

class RedactedTrace : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    tests::write_file(scratch_.file(name), bytes);
    return scratch_.file(name);
  }

  // Returns the path of the trace without private texts.
  std::string redacted(const std::string& path) {
    const trace::Trace open(path);
    const trace::File file(path, files::Origin::named);
    const trace::SegmentIndex index(file, open.trace_id());
    TextUses uses;
    each_segment(file, index, [&](const SegmentRecords& with) {
      for (const format::RingRecord& record : with.records) uses.add(record);
    });
    if (open.rings() != nullptr) uses.add(*open.rings());
    uses.learn(open.definitions(), names_);
    return write("redacted.memtrace",
                 text_segments(uses.replacements(open.definitions(), names_), index.segments().front().header) +
                     redacted_segments(file, index));
  }

  static std::vector<trace::Event> events(const trace::Trace& trace) {
    std::vector<trace::Event> out;
    trace.each([&](const trace::Event& event) { out.push_back(event); });
    return out;
  }

  tests::Scratch scratch_;
  PrivateNames names_;
};

// Three threads with texts between their events, in many segments of which most continue the one before.
Builder trace_of_threads() {
  Builder builder;
  const std::uint32_t outer = builder.python_frame("main", "/home/alice/secret/train.py", 7, 0);
  for (std::uint32_t i = 0; i < 600; ++i) {
    builder.on(i % 3).birth(0x10000 + 0x1000 * i, 8192, format::Kind::heap, 0, outer);
    if (i % 7 == 0) builder.begin("phase " + std::to_string(i)).end("phase " + std::to_string(i));
    if (i % 5 == 4) builder.death(0x10000 + 0x1000 * (i - 3));
  }
  return builder;
}

TEST_F(RedactedTrace, HasTheSameEventsAndNoPrivateText) {
  const std::string path = write("t.memtrace", trace_of_threads().bytes(16));
  const trace::Trace before(path);
  const trace::Trace after(redacted(path));
  EXPECT_EQ(tests::read_file(after.path()).find("secret"), std::string::npos);
  const auto first = events(before), second = events(after);
  ASSERT_EQ(first.size(), second.size());
  ASSERT_GT(first.size(), 700u);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].stamp, second[i].stamp);
    EXPECT_EQ(first[i].type, second[i].type);
    EXPECT_EQ(std::memcmp(&first[i].payload, &second[i].payload, sizeof first[i].payload), 0);
  }
  const auto counts = after.each([](const trace::Event&) {});
  EXPECT_EQ(after.losses(counts).total(), 0u);
  EXPECT_EQ(after.losses(counts).damaged_bytes, 0u);
  const std::string& file = after.definitions().text(after.definitions().code(format::CodeId{1})->file);
  EXPECT_TRUE(file.starts_with("/home/user") && file.ends_with(".py")) << file;
}

TEST_F(RedactedTrace, LosesWhatTheTraceLost) {
  std::string bytes = trace_of_threads().bytes(16);
  const std::size_t third = bytes.find("MTS\x02", bytes.find("MTS\x02", bytes.size() / 2) + 1);
  bytes.replace(third + 70, 6, "secret");
  const std::string path = write("t.memtrace", bytes + bytes.substr(third, 90) + "secret");
  const trace::Trace before(path);
  const trace::Trace after(redacted(path));
  EXPECT_EQ(tests::read_file(after.path()).find("secret"), std::string::npos);
  const auto losses = [](const trace::Trace& trace) {
    return trace.losses(trace.each([](const trace::Event&) {}));
  };
  EXPECT_GT(losses(before).total(), 0u);
  EXPECT_EQ(losses(before).events, losses(after).events);
  EXPECT_EQ(losses(before).damaged_bytes, losses(after).damaged_bytes);
  EXPECT_EQ(events(before).size(), events(after).size());
}

TEST_F(RedactedTrace, RingsKeepTheirRecordsButNoOlderBytes) {
  Builder builder;
  builder.birth(0x1000, 8192);
  std::vector<format::RingRecord> records = builder.records(0);
  format::RingRecord text{};
  format::TextEvent event{format::TextId{9}, 0, {}};
  std::memcpy(event.bytes, "/home/alice/secret", 18);
  text.put(event);
  text.flags = 18;
  text.stamp = builder.now() + 1;
  records.push_back(text);
  std::string rings = tests::ring_file({{.thread = 0, .tail = 0, .records = records}});
  const std::size_t free = format::kPage + sizeof(format::RingSlot) + 5 * sizeof(format::RingRecord);
  rings.replace(free + 16, 10, "old secret");
  write("t.memtrace", builder.definitions() + builder.segment(0, 0, 0));
  const std::string out = redacted_rings(rings, names_);
  EXPECT_EQ(out.size(), rings.size());
  EXPECT_EQ(out.find("secret"), std::string::npos);
  write("t.rings", out);
  const auto read = trace::read_rings(scratch_.file("t.rings"), Builder::kTraceId).rings;
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->slots.size(), 1u);
  ASSERT_EQ(read->slots[0].records.size(), records.size());
  EXPECT_EQ(read->slots[0].records[0].as<format::BirthEvent>().given, 8192u);
  EXPECT_EQ(redacted_rings("secret, not a ring file", names_), std::string(23, '\0'));
}

} // namespace
} // namespace memtrace::redact
