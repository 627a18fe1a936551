// Purpose: the trace of a process that still runs, read on from where the last reading ended.
#include "analyzer/follow/followed_trace.h"

#include <algorithm>
#include <utility>

#include "analyzer/trace/told_records.h"
#include "analyzer/trace/window_snapshot.h"

namespace memtrace::trace {
namespace {

using format::EventType;
using format::Source;

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

} // namespace

FollowedTrace::FollowedTrace(const std::string& path, files::Origin origin) : files_(path, origin) {
  read_from_beginning();
  const auto elsewhere = facts_.note("rings");
  if (rings_ || !elsewhere) return;
  files_.rings_are_at(*elsewhere);
  files_.begin_again();
  definition_cursors_.clear();
  definitions_ = {};
  survey_ = {};
  samples_ = {};
  read_from_beginning();
}

void FollowedTrace::read_from_beginning() {
  gather();
  read_definitions();
  survey();
}

void FollowedTrace::gather() {
  segments_.clear();
  snapshot_.clear();
  before_.clear();
  new_definitions_.clear();
  for (auto& [thread, stream] : streams_) {
    stream.events.clear();
    stream.small.reset();
  }
  rings_ = files_.rings();
  files_.read_on(
      [this](const File& file, const Segment& segment, std::uint32_t window) { add(file, segment, window); });
  add_rings();
}

void FollowedTrace::add(const File& file, const Segment& listed, std::uint32_t window) {
  const std::optional<Run> run = run_of(file, segments_.emplace_back(listed));
  if (!run) return;
  const std::uint32_t thread = listed.header.thread;
  if (run->source == Source::snapshot) {
    if (!order_ && window == files_.first_window()) snapshot_.push_back(*run);
  } else if (run->source == Source::definitions) {
    if (window == 0) new_definitions_[thread].push_back(*run); // those in windows are in the trace file, too
  } else {
    // Events of the trace file are before those of the first window: they are only surveyed.
    Stream& stream = (window >= files_.first_window() ? streams_ : before_)[thread];
    stream.thread = thread;
    stream.events.push_back(*run);
  }
}

void FollowedTrace::add_rings() {
  if (rings_) {
    for (const Leftover& leftover : rings_->slots) {
      Stream& stream = streams_[leftover.thread];
      stream.thread = leftover.thread;
      stream.small = leftover.small;
      if (!leftover.records.empty()) stream.events.push_back(run_of(leftover));
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
    beginning_ = snapshot(snapshot_, 0, [&](const Event& event) { take({&event, 1}); });
    ordinal_ = beginning_.ordinal;
  }
  order_.emplace(Order::FollowStreams{}, beginning_);
}

// Takes facts, definitions and samples from events. Returns false if the rules of steps are others now.
bool FollowedTrace::note(std::span<const Event> events) {
  const auto rules = facts_.step_rules();
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
  return facts_.step_rules() == rules;
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
  if (begins_later()) begin_threads();
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
