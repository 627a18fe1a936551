// Room: fold. Pure: ids in, numbers out.
// Job: the first pass: levels and flows of every phase and step, and where the peaks are.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "fold/replay.h"

namespace memtrace::fold {

// One measure of one memory in one row, in bytes. See the contract for what entry, exit, ... are.
struct Figures {
  std::int64_t entry = 0;
  std::int64_t exit = 0;
  std::int64_t peak = 0;
  std::int64_t transient = 0;
  std::int64_t net = 0;
  trace::Ordinal peak_at = 0; // after this event; 0: before the first
};

struct MemoryRow {
  Figures live;
  Figures tensor;
  Figures reserved; // of a device, as its allocator said
  std::uint64_t allocated = 0;
  std::uint64_t freed = 0;
  std::uint64_t allocations = 0;
};

struct Resident { // bytes, from samples
  std::uint64_t anon = 0;
  std::uint64_t file = 0;
  std::uint64_t shmem = 0;
  std::uint64_t sum() const { return anon + file + shmem; }
};

struct ResidentSpan {
  Resident entry;
  Resident exit;
  Resident peak;
};

// All occurrences of one path in one step.
struct Row {
  PathId path = PathId::other;
  Step step = Step::none;
  std::uint64_t count = 0;       // occurrences; 0 for `other`
  bool skipped = false;          // an optimizer step that did not update
  bool partial = false;          // it was open in a gap between windows: levels are those that were seen
  std::vector<MemoryRow> memory; // by MemoryId, as far as any was used
  std::optional<ResidentSpan> rss;

  const MemoryRow& of(MemoryId id) const;
};

struct StepSpan { // inclusive
  Step first = Step::none;
  Step last = Step::none;
};

struct Peak {
  std::int64_t bytes = 0;
  trace::Ordinal at = 0;
  format::Stamp stamp = 0;
  PathId path = PathId::other;
  Step step = Step::none;
  std::optional<StepSpan> bucket; // it was in one of these steps, and nobody knows who held it
};

struct MemoryPeaks {
  Peak live;
  Peak tensor;
  std::optional<Peak> reserved;
};

struct Account {
  std::vector<Row> rows;                 // in the order in which they began
  std::map<MemoryId, MemoryPeaks> peaks; // host always
  std::optional<Peak> rss;               // the highest VmHWM that was read
  bool tensors = false;                  // any memory had tensor bytes
  Paths paths;
  Step first_update = Step::none;
  Step last_step = Step::none;
  std::vector<StepSpan> detail; // steps seen from begin to end, ascending; more than one where windows are gone
  std::uint64_t unknown_deaths = 0;
  trace::OrderCounts counts;

  // A step in which a gap between windows begins or ends is not; what has no step is, with one window.
  bool whole(Step step) const;
};

// The first pass. Memory grows with live blocks and rows.
Account account(const trace::Trace& trace);

} // namespace memtrace::fold
