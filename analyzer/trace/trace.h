// Room: trace. The door of the room: what other rooms open and pass over.
// Job: one process's trace, file and rings together.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trace/facts.h"
#include "trace/order.h"
#include "trace/rings.h"
#include "trace/segments.h"

namespace memtrace::trace {

// What is missing, by reason. Events that were only counted are in the totals of `small` blocks.
struct Losses {
  std::map<std::string, std::uint64_t> events; // by Loss name, "gap", "torn"; none that is 0
  std::uint64_t damaged_bytes = 0;
  std::uint64_t damaged_at = 0; // offset in the file, if damaged_bytes is not 0
  std::uint64_t total() const;
};

// Opens a trace as it is now. What it holds does not change afterwards, though the process may go on: every
// pass sees the same events. Memory grows with threads, segments and what the process interned.
class Trace {
 public:
  // Throws Fault when nothing of it can be read.
  explicit Trace(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const Definitions& definitions() const { return definitions_; }
  const Facts& facts() const { return facts_; }
  // Of the trace file and, where it is still there, of what its rings hold: bytes.
  std::uint64_t bytes() const { return index_.bytes(); }
  bool has_rings() const { return rings_.has_value(); }

  // Every event in order. Returns what the pass counted.
  OrderCounts each(const std::function<void(const Event&)>& take) const;

  // `counts` is what a pass returned.
  Losses losses(const OrderCounts& counts) const;

 private:
  void find_rings();
  void build_streams();
  void survey();

  File file_;
  SegmentIndex index_;
  std::optional<Rings> rings_;
  std::vector<Stream> streams_; // by thread
  Definitions definitions_;
  Facts facts_;
  std::uint64_t missing_definitions_ = 0;
};

} // namespace memtrace::trace
