// Purpose: the trace of a process that still runs, read on from where the last reading ended.
#include "analyzer/trace/followed_trace.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "analyzer/decode/read_error.h"
#include "analyzer/trace/told_records.h"
#include "analyzer/trace/window_snapshot.h"

namespace memtrace::trace {
namespace {

using format::EventType;
using format::Source;

std::string without_suffix(const std::string& path) {
  constexpr std::string_view kSuffix = ".memtrace";
  return path.ends_with(kSuffix) ? path.substr(0, path.size() - kSuffix.size()) : path;
}

bool is_told(EventType type) {
  return (kTaken >> static_cast<unsigned>(type) & 1) != 0 && static_cast<unsigned>(type) < 64;
}

format::RingRecord record_of(const Event& event) {
  format::RingRecord record{};
  record.type = static_cast<std::uint8_t>(event.type);
  record.kind = static_cast<std::uint8_t>(event.kind);
  record.flags = event.flags;
  record.stamp = event.stamp;
  record.payload = event.payload;
  return record;
}

// The rules by which steps are counted (replay/phase_tracker.h).
struct StepRules {
  bool auto_phases, step_phases, step_records, data_phases;
  explicit StepRules(const Facts& facts)
      : auto_phases(facts.auto_phases),
        step_phases(facts.step_phases),
        step_records(facts.step_records),
        data_phases(facts.data_phases) {}
  bool operator==(const StepRules&) const = default;
};

} // namespace

FollowedTrace::FollowedTrace(const std::string& path)
    : file_(path, files::Origin::named), index_(file_), stem_(without_suffix(path)) {
  rings_path_ = stem_ + ".rings";
  gather();
  read_definitions();
  survey();
  if (rings_) return;
  if (const auto elsewhere = facts_.note("rings")) {
    rings_path_ = *elsewhere;
    rings_ = read_rings(rings_path_, index_.trace_id()).rings;
    if (!rings_) return;
    index_.extend(); // records may have moved from the rings since
    for (; taken_ < index_.segments().size(); ++taken_) add(file_, index_.segments()[taken_], false);
    add_rings();
    find_facts();
  }
}

// Reads the rings first, as Trace does: records that move meanwhile are seen twice and given once.
void FollowedTrace::gather() {
  segments_.clear();
  snapshot_.clear();
  before_.clear();
  new_definitions_.clear();
  for (auto& [thread, stream] : streams_) {
    stream.events.clear();
    stream.small.reset();
  }
  rings_ = read_rings(rings_path_, index_.trace_id()).rings;
  index_.extend();
  gather_windows();
  for (; taken_ < index_.segments().size(); ++taken_) add(file_, index_.segments()[taken_], false);
  add_rings();
}

void FollowedTrace::open_window(std::uint32_t place, const std::string& path, std::uint64_t inode) {
  KnownWindow window;
  window.inode = inode;
  try {
    window.of.file = std::make_unique<File>(path, files::Origin::found);
  } catch (const ReadError&) {
    windows_.erase(place);
    return;
  }
  window.of.index = std::make_unique<SegmentIndex>(*window.of.file, index_.trace_id());
  window.of.number = number_of(window.of);
  windows_[place] = std::move(window);
}

// The recorder makes a file anew for each window, so another inode is another window.
void FollowedTrace::gather_windows() {
  for (std::uint32_t i = 0; i < format::kWindowFiles; ++i) {
    const std::string path = stem_ + ".window-" + std::to_string(i);
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) {
      windows_.erase(i);
      continue;
    }
    const auto known = windows_.find(i);
    if (known == windows_.end() || known->second.inode != status.st_ino) {
      open_window(i, path, status.st_ino);
    } else {
      known->second.of.index->extend();
      if (!known->second.of.number) known->second.of.number = number_of(known->second.of);
    }
  }
  std::vector<KnownWindow*> order;
  for (auto& [place, window] : windows_)
    if (window.of.number) order.push_back(&window);
  std::sort(order.begin(), order.end(),
            [](const KnownWindow* a, const KnownWindow* b) { return *a->of.number < *b->of.number; });
  if (!order_ && from_ == 0 && !order.empty()) {
    const std::uint32_t last = *order.back()->of.number;
    const bool pair = order.size() > 1 && *order[order.size() - 2]->of.number + 1 == last;
    from_ = pair ? last - 1 : last;
  }
  for (KnownWindow* window : order) {
    if (*window->of.number < from_) continue;
    const std::vector<Segment>& segments = window->of.index->segments();
    for (; window->taken < segments.size(); ++window->taken)
      add(*window->of.file, segments[window->taken], true);
  }
}

void FollowedTrace::add(const File& file, const Segment& listed, bool window) {
  const auto source = static_cast<Source>(listed.header.source);
  if (source > Source::snapshot) return; // of a later version
  const Segment& segment = segments_.emplace_back(listed);
  const format::SegmentHeader& header = segment.header;
  const std::uint64_t first = std::min(header.first_sequence, ~std::uint64_t{0} - header.records);
  const Run run{source,   first,   header.records, header.first_stamp, header.types, &file,
                &segment, nullptr, false};
  if (source == Source::snapshot) {
    if (!order_) snapshot_.push_back(run);
  } else if (source == Source::definitions) {
    if (!window) new_definitions_[header.thread].push_back(run); // those in windows are in the trace file, too
  } else {
    // Events of the trace file are before those of the first window: they are only surveyed.
    Stream& stream = (window || from_ == 0 ? streams_ : before_)[header.thread];
    stream.thread = header.thread;
    stream.events.push_back(run);
  }
}

void FollowedTrace::add_rings() {
  if (rings_) {
    for (const Leftover& leftover : rings_->slots) {
      Stream& stream = streams_[leftover.thread];
      stream.thread = leftover.thread;
      stream.small = leftover.small;
      if (leftover.records.empty()) continue;
      stream.events.push_back({Source::ring, leftover.first_sequence, leftover.records.size(),
                               leftover.records.front().stamp, ~std::uint64_t{0}, nullptr, nullptr, &leftover,
                               false});
    }
  }
  std::sort(snapshot_.begin(), snapshot_.end(), earlier);
  for (auto& [thread, runs] : new_definitions_) std::sort(runs.begin(), runs.end(), earlier);
  for (auto& [thread, stream] : streams_) std::stable_sort(stream.events.begin(), stream.events.end(), earlier);
}

void FollowedTrace::read_definitions() {
  for (const auto& [thread, runs] : new_definitions_) {
    Cursor& cursor = definition_cursors_.try_emplace(thread, Cursor::FollowRuns{}).first->second;
    cursor.continue_with(runs);
    format::RingRecord record{};
    while (cursor.next(record)) {
      definitions_.add(thread, record);
      survey_.add(thread, record);
      samples_.add(event_of(thread, record));
    }
  }
}

// Reads what the events that are there tell about the process, before the first of them is replayed.
void FollowedTrace::survey() {
  for (auto& [thread, stream] : before_) std::stable_sort(stream.events.begin(), stream.events.end(), earlier);
  survey(before_);
  before_.clear();
  survey(streams_);
  find_facts();
}

void FollowedTrace::survey(const Streams& streams) {
  for (const auto& [thread, stream] : streams) {
    std::uint64_t records = 0;
    for (const Run& run : stream.events) records += run.records;
    const auto add = [&, in = thread](const format::RingRecord& record) {
      definitions_.add(in, record);
      survey_.add(in, record);
      samples_.add(event_of(in, record));
    };
    const ToldCounts counts =
        read_told(stream.events, {kTaken, add, [](std::uint64_t) {}}, threads_for(records));
    survey_.seen(thread, counts.last);
    last_ = std::max(last_, counts.last);
  }
}

void FollowedTrace::find_facts() {
  facts_ = Survey(survey_).finish(definitions_, last_);
  if (rings_) {
    facts_.lost_blocks = rings_->header.lost_blocks;
    facts_.pauses = rings_->header.pauses;
  }
}

// Gives the snapshot of the first window, if it begins with one.
void FollowedTrace::begin(const std::function<void(std::span<const Event>)>& take) {
  if (!snapshot_.empty()) {
    std::vector<Run> first; // of the window with which it begins
    const auto window = std::find_if(windows_.begin(), windows_.end(),
                                     [this](const auto& one) { return one.second.of.number == from_; });
    for (const Run& run : snapshot_)
      if (window != windows_.end() && run.file == window->second.of.file.get()) first.push_back(run);
    beginning_ = snapshot(first, 0, [&](const Event& event) { take({&event, 1}); });
    ordinal_ = beginning_.ordinal;
  }
  order_.emplace(Order::FollowStreams{}, beginning_);
}

// Takes facts, definitions and samples from events. Returns false if the rules of steps are others now.
bool FollowedTrace::note(std::span<const Event> events) {
  const StepRules before(facts_);
  bool told = false;
  for (const Event& event : events) {
    last_ = std::max(last_, event.stamp);
    if (!is_told(event.type)) continue;
    told = true;
    const format::RingRecord record = record_of(event);
    definitions_.add(event.thread, record);
    survey_.add(event.thread, record);
    samples_.add(event);
  }
  if (!told) {
    facts_.last_stamp = last_;
    return true;
  }
  std::map<std::uint32_t, format::Stamp> seen;
  for (const Event& event : events) seen[event.thread] = std::max(seen[event.thread], event.stamp);
  for (const auto& [thread, stamp] : seen) survey_.seen(thread, stamp);
  find_facts();
  return StepRules(facts_) == before;
}

// Gives the waiting events until the stamp. Threads are in the order of their stamps.
void FollowedTrace::give(format::Stamp until, const std::function<void(std::span<const Event>)>& take) {
  std::stable_sort(waiting_.begin(), waiting_.end(),
                   [](const Event& a, const Event& b) { return a.stamp < b.stamp; });
  const auto end = std::find_if(waiting_.begin(), waiting_.end(),
                                [until](const Event& event) { return event.stamp > until; });
  const auto count = static_cast<std::size_t>(end - waiting_.begin());
  for (std::size_t i = 0; i < count; ++i) waiting_[i].ordinal = ++ordinal_;
  if (count != 0) take(std::span<const Event>(waiting_).first(count));
  events_ += count;
  waiting_.erase(waiting_.begin(), end);
}

// Of a thread that is new here, the records before the window are not missing. If the snapshot does not have
// its flows, its totals do not tell what is not carried.
void FollowedTrace::begin_threads() {
  constexpr std::uint64_t kMuch = ~std::uint64_t{0} >> 1;
  for (auto& [thread, stream] : streams_) {
    if (known_threads_.contains(thread)) continue;
    if (stream.events.empty() || stream.events.front().first_sequence != 0)
      beginning_.small.try_emplace(thread, format::SmallTotals{kMuch, kMuch, kMuch, kMuch});
    if (stream.events.empty()) continue;
    stream.events.front().fresh = true;
    known_threads_.insert(thread);
  }
}

bool FollowedTrace::refresh(format::Stamp until, const std::function<void(std::span<const Event>)>& take) {
  const bool first = !order_;
  if (first) {
    begin(take);
  } else {
    gather();
    read_definitions();
  }
  if (from_ != 0) begin_threads();
  order_->append(streams_, beginning_);
  const std::size_t noted = waiting_.size();
  std::vector<Event> batch;
  for (order_->next(batch); !batch.empty(); order_->next(batch)) {
    if (first && waiting_.empty() && batch.back().stamp <= until) { // most of a trace: not stored
      for (Event& event : batch) event.ordinal = ++ordinal_;
      take(batch);
      events_ += batch.size();
    } else {
      waiting_.insert(waiting_.end(), batch.begin(), batch.end());
    }
  }
  const std::uint64_t missing = std::exchange(missing_, order_->counts().missing);
  if (!first && (missing_ != missing || !note(std::span<const Event>(waiting_).subspan(noted)))) return false;
  give(until, take);
  return true;
}

} // namespace memtrace::trace
