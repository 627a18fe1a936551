// Purpose: what the report asks of a trace, from the pass over its events to the sets at its peaks.
#include "trace_use.h"

#include "analyzer/attribute/peak_composition.h"
#include "analyzer/attribute/step_selection.h"
#include "analyzer/decode/read_error.h"
#include "analyzer/files/read_budget.h"
#include "analyzer/passes/allocator_segments.h"
#include "builder.h"
#include "bytes.h"

namespace memtrace::tests {
namespace {

constexpr std::size_t kMostRows = 8; // whose sets are asked for

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x100000001B3u;
}

// Of all events. The ordinals of a pass rise by one.
std::uint64_t pass(const trace::Trace& trace, trace::OrderCounts& counts) {
  std::uint64_t hash = 0;
  trace::Ordinal last = 0;
  counts = trace.each([&](const trace::Event& event) {
    expect(event.ordinal == last + 1, "the ordinals of events do not rise by one");
    last = event.ordinal;
    hash = mix(mix(mix(hash, event.stamp), static_cast<std::uint64_t>(event.type)), event.thread);
    for (const std::uint64_t word : event.payload.word) hash = mix(hash, word);
  });
  return hash;
}

void fold_all(const trace::Trace& trace) {
  replay::Account account = replay::account_phases(trace);
  const replay::Buckets buckets = replay::buckets(trace, account);
  const replay::Steady steady = replay::steady(account);
  const replay::Shown shown = replay::choose(account, buckets, {});
  replay::coverage(buckets, account);
  std::vector<replay::Instant> instants;
  std::set<replay::DeviceInstant> devices;
  for (const auto& [memory, peaks] : account.peaks) {
    instants.push_back({memory, replay::Measure::live, peaks.live.at});
    instants.push_back({memory, replay::Measure::tensor, peaks.tensor.at});
    if (peaks.reserved) devices.insert({memory, peaks.reserved->at});
  }
  for (const replay::ShownRow& row : shown.rows) {
    if (instants.size() > kMostRows || row.bucket != nullptr || row.row->memory.empty()) continue;
    instants.push_back({0, replay::Measure::live, row.row->memory[0].live.peak_at});
  }
  const auto sets = replay::alive_at(trace, instants, account.last_step);
  for (const auto& [instant, holdings] : sets)
    for (const replay::Holding& holding : holdings)
      expect(holding.blocks != 0 || holding.bytes == 0, "a row without blocks has bytes");
  replay::segments_at(trace, devices);
  for (const replay::BucketRow& row : buckets.rows) buckets.births(row, 0);
  trace.losses(account.counts);
}

} // namespace

void use_trace(const std::string& path, trace::ReadExtent extent) try {
  files::Budget::of_command() = {}; // each input is a command of its own
  const trace::Trace trace(path, nullptr, extent);
  trace::OrderCounts first, second;
  const std::uint64_t events = pass(trace, first);
  expect(events == pass(trace, second), "two passes over a trace see other events");
  expect(first.records == second.records && first.missing == second.missing, "two passes count otherwise");
  fold_all(trace);
} catch (const trace::ReadError&) {
  // One clear line and exit 2: that is what the command says of it.
} catch (const files::OverBudget&) {
  // The same.
}

const std::string& plain_trace() {
  static const std::string bytes = [] {
    Builder builder;
    const std::uint32_t main = builder.python_frame("main", "/home/u/train.py", 4, 0);
    const std::uint32_t step =
        builder.native_frame(0x401234, builder.python_frame("step", "/home/u/a.py", 7, main));
    for (std::uint32_t i = 0; i < 3; ++i) {
      builder.on(1).step(i).begin("forward").tensor(0x10000 + i * 0x10000, 5000, step);
      builder.on(2).birth(0x900000 + i * 0x10000, 9000, Kind::mmap_anon, 0, main);
      builder.on(0).counters(100, 40, 3, 1);
      builder.on(1).end("forward").begin("step").tensor_death(0x10000 + i * 0x10000).end("step");
    }
    return builder.bytes(8);
  }();
  return bytes;
}

} // namespace memtrace::tests
