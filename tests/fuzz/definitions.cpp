// Purpose: fuzz target: texts, code, modules and stacks, from records to the names of sites.
//
// Input: records of 64 bytes; `commit` is the thread. Whatever they hold, they survive a round trip.
#include <algorithm>

#include "analyzer/symbols/symbolizer.h"
#include "analyzer/trace/kernel_samples.h"
#include "bytes.h"
#include "preload/format/definition_events.h"
#include "segment_edit.h"

using namespace memtrace;
using namespace memtrace::tests;

namespace {

constexpr std::uint32_t kThreads = 4;

std::vector<format::RingRecord> records_of(Bytes input) {
  std::vector<format::RingRecord> records;
  while (!input.empty()) {
    auto record = input.next<format::RingRecord>();
    record.type = static_cast<std::uint8_t>(record.type % format::kEventTypes);
    records.push_back(record);
  }
  return records;
}

void use(const trace::Definitions& definitions, const trace::Facts& facts,
         const std::vector<format::RingRecord>& records) {
  symbols::Symbolizer symbolizer(definitions, facts);
  for (const format::RingRecord& record : records) {
    const auto id = static_cast<std::uint32_t>(record.as<format::TextEvent>().id); // of any definition
    definitions.text(format::TextId{id});
    definitions.code(format::CodeId{id});
    bool complete = false;
    const auto frames = definitions.frames(format::StackId{id}, &complete);
    const auto& named = symbolizer.site(format::StackId{id}).frames;
    const auto inlined =
        std::count_if(named.begin(), named.end(), [](const auto& frame) { return frame.inlined; });
    expect(named.size() == frames.size() + static_cast<std::size_t>(inlined), "a frame of a site has no name");
  }
  for (const char* key : {"rings", "own", "kind", "boot"}) facts.note(key);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto records = records_of(Bytes(data, size));
  expect_round_trip(records);
  trace::Definitions definitions;
  trace::Survey survey;
  trace::Samples samples;
  format::Stamp last = 0;
  for (const format::RingRecord& record : records) {
    const std::uint32_t thread = record.commit % kThreads;
    definitions.add(thread, record);
    survey.add(thread, record);
    survey.seen(thread, record.stamp);
    samples.add(trace::event_of(thread, record));
    last = std::max(last, record.stamp);
  }
  use(definitions, std::move(survey).finish(definitions, last), records);
  return 0;
}
