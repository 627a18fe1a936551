// Purpose: the ledgers that memtrace took while the process ran: the highest by RSS, the first and the last.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/trace/event_merger.h"

namespace memtrace::trace {

struct LedgerBytes {
  std::uint64_t resident = 0;
  std::uint64_t given = 0;
  std::uint64_t parts = 0; // blocks, mappings
  bool sampled = false;
};

struct ProcessLedger {
  format::Stamp stamp = 0;
  std::uint64_t total = 0; // RSS
  std::uint64_t high_water = 0;
  std::uint64_t swap = 0;
  std::uint64_t drift = 0;      // bytes that came and went while it was taken
  bool allocator_asked = false; // it reported the memory that it retains
  bool at_end = false;          // taken at the orderly end
  std::array<std::optional<LedgerBytes>, format::kLedgerRows> rows;

  // True if the rows add up to the total within 1 %. Huge pages of the pool are in no RSS.
  bool closes() const;
};

// The main figures of one ledger.
struct LedgerPoint {
  format::Stamp stamp = 0;
  std::uint64_t total = 0;     // RSS
  std::uint64_t kept = 0;      // resident bytes that the allocator retains
  std::uint64_t untouched = 0; // bytes of live blocks and mappings that are not resident
  bool at_end = false;
  bool asked = false; // the allocator reported `kept`; false: `kept` is not known
};

// The pages of its parent that a forked process had at one ledger.
struct InheritedBytes {
  std::uint64_t copied = 0; // bytes of pages that it had written to
  std::uint64_t shared = 0;
};

// Collects ledgers. Give it every event of a pass.
class Ledgers {
 public:
  void add(const Event& event);

  const std::optional<ProcessLedger>& highest() const { return highest_; }
  // Returns the highest ledger whose rows add up to its total within 1 %, or null. It may be far below the
  // highest.
  const ProcessLedger* highest_closed() const;
  const std::optional<ProcessLedger>& first() const { return first_; }
  const std::optional<ProcessLedger>& last() const { return last_; }
  const std::vector<LedgerPoint>& all() const { return all_; } // in order; old ones are thinned
  // Returns the ledger with the most copied bytes, or nullopt if the process is not a fork. The one at the end
  // counts only if no other is of the second half of the time. RSS stays as it is when the process copies a
  // page, so the highest ledger may be an early one.
  const std::optional<InheritedBytes>& most_copied() const { return most_copied_; }
  std::uint64_t taken() const { return taken_; }
  std::uint64_t high_water() const { return high_water_; } // the largest VmHWM ever read

 private:
  void head(const Event& event);
  void row(const Event& event);

  std::optional<ProcessLedger> first_, highest_, highest_closed_,
      last_; // highest_closed_: without last_, whose rows follow
  std::vector<LedgerPoint> all_;
  std::optional<InheritedBytes> most_copied_;
  std::uint64_t shared_ = 0; // the row `inherited` of the ledger whose rows follow
  // The ledgers that the next rows belong to.
  bool into_first_ = false, into_highest_ = false, into_last_ = false;
  std::uint64_t taken_ = 0, high_water_ = 0;
};

} // namespace memtrace::trace
