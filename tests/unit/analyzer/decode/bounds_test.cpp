// Purpose: names are cut and kept once, a chain of frames is walked once, and what is beyond the budget is
// refused.
#include <gtest/gtest.h>

#include <cstring>

#include "analyzer/decode/definitions.h"
#include "analyzer/files/read_budget.h"
#include "analyzer/replay/phase_position.h"
#include "analyzer/trace/module_map.h"
#include "preload/format/definition_events.h"

namespace memtrace {
namespace {

using format::EventType;
using format::RingRecord;

RingRecord record_of(EventType type, std::uint16_t flags, const std::vector<std::uint64_t>& words) {
  RingRecord record{};
  record.type = static_cast<std::uint8_t>(type);
  record.flags = flags;
  std::copy(words.begin(), words.end(), record.payload.word);
  return record;
}

void say(trace::Definitions& definitions, std::uint32_t id, const std::string& text, bool whole = true) {
  for (std::size_t done = 0; done < text.size();) {
    const std::size_t here = std::min(text.size() - done, format::kTextChunk);
    RingRecord record = record_of(EventType::text, 0, {id});
    std::memcpy(record.as<format::TextEvent>().bytes, text.data() + done, here);
    done += here;
    const bool more = done < text.size() || !whole;
    record.flags = static_cast<std::uint16_t>(here | (more ? format::kTextMore : 0));
    definitions.add(0, record);
  }
}

TEST(Bounds, ATextIsCutWithAMarkAndThereIsOneOfIt) {
  trace::Definitions definitions;
  say(definitions, 1, std::string(100'000, 'n'));
  say(definitions, 2, std::string(trace::kLongestName, 'm'));
  say(definitions, 3, std::string(80, 'u'), false); // its last chunk was lost
  definitions.finish();
  const std::string& cut = definitions.text(format::TextId{1});
  EXPECT_EQ(cut, std::string(trace::kLongestName, 'n') + "...[cut, 100000 bytes]");
  EXPECT_EQ(&cut, &definitions.text(format::TextId{1}));
  EXPECT_EQ(definitions.whole_text(format::TextId{1}).size(), 100'000u);
  EXPECT_EQ(definitions.text(format::TextId{2}), std::string(trace::kLongestName, 'm'));
  EXPECT_EQ(definitions.text(format::TextId{3}), std::string(80, 'u'));
  EXPECT_EQ(definitions.text(format::TextId{9}), "text#9?");
  EXPECT_EQ(definitions.text(format::TextId{0}), "");
}

TEST(Bounds, APhaseNameIsCutAndCopiesShareIt) {
  replay::Paths paths;
  const replay::NameId id = paths.name(std::string(1 << 20, 'n'));
  EXPECT_LE(paths.text(id).size(), 256u);
  EXPECT_TRUE(paths.text(id).ends_with("[cut, 1048576 bytes]")) << paths.text(id);
  EXPECT_EQ(paths.name(std::string(1 << 20, 'n')), id);
  const replay::Paths copy = paths;
  EXPECT_EQ(&copy.text(id), &paths.text(id));
}

TEST(Bounds, AnAddressIsOfTheModuleRecordedLast) {
  trace::Definitions definitions;
  const auto module = [&](std::uint32_t id, std::uint64_t first, std::uint32_t pages) {
    definitions.add(0, record_of(EventType::module, 0, {format::halves(id, id), 0, first, pages}));
  };
  module(1, 0x10000, 16);
  module(2, 0x14000, 2);
  module(3, 0x12000, 1);
  module(4, ~std::uint64_t{0} - 0xFFF, 4); // runs over the end
  module(5, 0x11000, 0);
  const trace::ModuleMap map(definitions, 0x1000);
  const auto at = [&](std::uint64_t address) {
    const trace::Module* const found = map.at(address);
    return found == nullptr ? 0 : static_cast<std::uint32_t>(found->path);
  };
  EXPECT_EQ(at(0xFFFF), 0u);
  EXPECT_EQ(at(0x10000), 1u);
  EXPECT_EQ(at(0x11FFF), 1u);
  EXPECT_EQ(at(0x12000), 3u);
  EXPECT_EQ(at(0x13000), 1u);
  EXPECT_EQ(at(0x15FFF), 2u);
  EXPECT_EQ(at(0x16000), 1u);
  EXPECT_EQ(at(0x20000), 0u);
  EXPECT_EQ(at(~std::uint64_t{0}), 4u);
}

TEST(Bounds, WhatIsBeyondTheBudgetIsRefusedInOneLine) {
  files::Budget budget;
  budget.reads("a.memtrace", 1, 1, 1000);
  budget.took(files::Budget::kBytes + 4 * 1000);
  EXPECT_THROW(budget.took(1), files::OverBudget);
  EXPECT_TRUE(budget.refusal().starts_with("a.memtrace: a report would take more than 1024 MiB of memory"));
  EXPECT_NE(budget.refusal().find("--unbounded"), std::string::npos);
  budget.gave(1000);
  budget.looks(files::Budget::kLooks + 256 * 1000);
  EXPECT_THROW(budget.looks(1), files::OverBudget);
  EXPECT_NE(budget.refusal().find("million times"), std::string::npos);
  budget.lift();
  budget.looks(1);
  budget.took(1 << 30);
}

} // namespace
} // namespace memtrace
