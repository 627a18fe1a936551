// Purpose: the trace of a process that still runs, read on from where the last reading ended.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analyzer/decode/ring_reader.h"
#include "analyzer/follow/growing_files.h"
#include "analyzer/trace/event_merger.h"
#include "analyzer/trace/kernel_samples.h"
#include "analyzer/trace/process_facts.h"

namespace memtrace::trace {

// Reads each segment once. The records in the rings are read at each refresh, and are given before they reach a
// segment.
class FollowedTrace {
 public:
  // Reads definitions and facts, as far as they are there. Throws ReadError if nothing of the trace can be
  // read.
  explicit FollowedTrace(const std::string& path, files::Origin origin = files::Origin::named);
  FollowedTrace(const FollowedTrace&) = delete;
  FollowedTrace& operator=(const FollowedTrace&) = delete;

  // Gives the events that came since, in order. `until`: events of later stamps wait for the next refresh,
  // because threads are read one after the other. Returns false if it cannot continue: records between are not
  // there any more, or the rules by which steps are counted became known only now. Then begin again with a new
  // object.
  bool refresh(format::Stamp until, const std::function<void(std::span<const Event>)>& take);

  const std::string& path() const { return files_.path(); }
  const Definitions& definitions() const { return definitions_; }
  const Facts& facts() const { return facts_; }
  const Samples& samples() const { return samples_; }
  const Rings* rings() const { return rings_ ? &*rings_ : nullptr; }
  // Returns the flows of small blocks since the last record of each thread.
  format::SmallTotals not_carried() const { return order_ ? order_->not_carried() : format::SmallTotals{}; }
  std::uint64_t events() const { return events_; }                 // given so far
  bool begins_later() const { return files_.first_window() != 0; } // earlier steps are not shown

 private:
  void read_from_beginning();
  void gather();
  void add(const File& file, const Segment& segment, std::uint32_t window);
  void add_rings();
  void read_definitions();
  void survey();
  void survey(const Streams& streams);
  void begin(const std::function<void(std::span<const Event>)>& take);
  void begin_threads();
  bool note(std::span<const Event> events);
  void give(format::Stamp until, const std::function<void(std::span<const Event>)>& take);
  void find_facts();

  GrowingFiles files_;
  std::optional<Rings> rings_;

  // What the last gather() found.
  std::deque<Segment> segments_;
  Streams streams_;
  Streams before_;            // events before the first window
  std::vector<Run> snapshot_; // of the window with which it begins
  std::map<std::uint32_t, std::vector<Run>> new_definitions_;

  std::map<std::uint32_t, Cursor> definition_cursors_;
  Definitions definitions_;
  Survey survey_;
  Facts facts_;
  Samples samples_;
  format::Stamp last_ = 0;
  Beginning beginning_;
  std::set<std::uint32_t> known_threads_; // with records, if it began with a window
  std::optional<Order> order_;            // null before the first refresh
  std::uint64_t missing_ = 0;
  std::vector<Event> waiting_; // by stamp
  Ordinal ordinal_ = 0;
  std::uint64_t events_ = 0;
};

} // namespace memtrace::trace
