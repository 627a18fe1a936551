// Purpose: the trace of one process: its file, windows, rollup and rings together.
#include "analyzer/trace/trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "analyzer/files/read_budget.h"
#include "analyzer/trace/noted_totals.h"
#include "analyzer/trace/told_records.h"
#include "analyzer/trace/window_snapshot.h"

namespace memtrace::trace {
namespace {

using format::Source;

std::uint64_t records_of(std::span<const Run> runs) {
  std::uint64_t out = 0;
  for (const Run& run : runs) out += run.records;
  return out;
}

std::uint64_t records_in(const Streams& threads) {
  std::uint64_t out = 0;
  for (const auto& [thread, stream] : threads) out += records_of(stream.events);
  return out;
}

} // namespace

std::uint64_t Losses::total() const {
  std::uint64_t sum = 0;
  for (const auto& [reason, count] : events) sum += count;
  return sum;
}

// Reads the rings first, then the files that they are drained into, then the rollup. So records that move
// meanwhile are seen twice and taken once. They are never missed.
Trace::Trace(const std::string& path, Progress* progress)
    : progress_(progress), file_(path, files::Origin::named), index_(file_, progress) {
  files::Budget::of_command().about(path);
  find_rings();
  const std::string stem = stem_of(file_.path());
  windows_ = find_windows(stem, index_.trace_id());
  rollup_ = read_rollup(stem + ".coarse", index_.trace_id());
  if (rings_ || !windows_.empty()) {
    index_.extend();
    build_parts();
    survey();
  }
  facts_.lost_blocks = rings_ ? rings_->header.lost_blocks : noted_lost_blocks(facts_);
  facts_.pauses = rings_ ? rings_->header.pauses : noted_pauses(facts_);
  if (!rings_) return;
  const format::RingFileHeader& header = rings_->header;
  if (header.ended != 1) {
    facts_.uncounted_bound = header.uncounted_bound;
    facts_.highest_before = header.highest_before;
  }
  if (header.beginning == 0) return;
  facts_.beginning = {header.live[0], std::max(header.beginning, header.live[0]), header.beginning_small};
}

// If the ring file lies beside the trace, the survey waits for its records. If not, surveys the trace now,
// because a note in it may give the path of the ring file.
void Trace::find_rings() {
  take_rings(stem_of(file_.path()) + ".rings");
  if (rings_) return;
  build_parts();
  survey();
  if (newer_rings_ != 0) return;
  if (const auto elsewhere = facts_.note("rings")) take_rings(*elsewhere);
}

void Trace::take_rings(const std::string& path) {
  RingFile file = read_rings(path, index_.trace_id());
  rings_ = std::move(file.rings);
  newer_rings_ = file.newer;
}

NewerParts Trace::newer() const {
  NewerParts out;
  const auto add = [&out](const SegmentIndex& index) {
    const NewerSegments& newer = index.newer();
    out.version = std::max(out.version, newer.version);
    out.segments += newer.count;
    out.all += newer.count + index.segments().size();
    out.bytes += newer.bytes;
  };
  add(index_);
  for (const WindowFile& window : windows_) add(*window.index);
  out.version = std::max({out.version, newer_rings_, rollup_.newer});
  out.rings = newer_rings_ != 0;
  out.rollup = rollup_.newer != 0;
  out.writer = index_.writer();
  return out;
}

void Trace::take(const File& file, const SegmentIndex& index, TracePart& part) {
  for (const Segment& segment : index.segments()) {
    const std::optional<Run> run = run_of(file, segment);
    if (!run) continue;
    if (run->source == Source::snapshot) {
      part.snapshot.push_back(*run);
      continue;
    }
    Stream& stream = part.threads[segment.header.thread];
    stream.thread = segment.header.thread;
    (run->source == Source::definitions ? stream.definitions : stream.events).push_back(*run);
  }
}

// Collects the trace file, then the windows. A window belongs to the part of the window before if no records
// are missing between them.
void Trace::build_parts() {
  parts_.clear();
  parts_.emplace_back();
  take(file_, index_, parts_.back());
  std::uint32_t number = 0;
  bool whole = index_.damage().bytes == 0;
  for (const WindowFile& window : windows_) {
    // A process that is killed while it begins a window leaves an empty window. The records in its rings follow
    // the window before.
    if (!window.number && window.index->segments().empty()) continue;
    const bool follows = window.number && *window.number == number + 1;
    if (!follows || !whole) {
      parts_.emplace_back();
      parts_.back().follows = follows;
      parts_.back().placed = window.number.has_value();
    }
    TracePart part;
    take(*window.file, *window.index, follows && whole ? part : parts_.back());
    for (auto& [thread, stream] : part.threads) { // of a window whose snapshot is not needed
      Stream& into = parts_.back().threads[thread];
      into.thread = thread;
      into.events.insert(into.events.end(), stream.events.begin(), stream.events.end());
    }
    number = window.number.value_or(number);
    whole = window.index->damage().bytes == 0;
  }
  add_rings();
  for (TracePart& part : parts_) {
    std::sort(part.snapshot.begin(), part.snapshot.end(), earlier);
    for (auto& [thread, stream] : part.threads) {
      std::sort(stream.definitions.begin(), stream.definitions.end(), earlier);
      std::sort(stream.events.begin(), stream.events.end(), earlier);
    }
  }
  find_gaps();
  records_ = 0;
  for (const TracePart& part : parts_) {
    for (const auto& [thread, stream] : part.threads) {
      for (const Run& run : stream.events) records_ += run.records;
    }
  }
}

// Adds the records that were not drained. They come last.
void Trace::add_rings() {
  if (!rings_) return;
  for (const Leftover& leftover : rings_->slots) {
    Stream& stream = parts_.back().threads[leftover.thread];
    stream.thread = leftover.thread;
    stream.small = leftover.small;
    if (!leftover.records.empty()) stream.events.push_back(run_of(leftover));
  }
}

// Counts the records between two parts. If the parts should follow each other, these records are lost. Else
// they are in the rollup.
void Trace::find_gaps() {
  folded_ = missing_between_ = unplaced_ = 0;
  std::map<std::uint32_t, std::uint64_t> ends; // end of the sequence of each thread so far
  for (TracePart& part : parts_) {
    for (auto& [thread, stream] : part.threads) {
      if (!part.placed) {
        for (const Run& run : stream.events) unplaced_ += run.records;
        continue;
      }
      std::uint64_t& end = ends[thread];
      if (&part != &parts_.front() && !stream.events.empty()) {
        Run& first = stream.events.front();
        first.fresh = true;
        const std::uint64_t between = first.first_sequence > end ? first.first_sequence - end : 0;
        (part.follows ? missing_between_ : folded_) += between;
      }
      for (const Run& run : stream.events) {
        if (run.source == Source::ring) end = std::max(end, run.first_sequence + run.records);
      }
    }
  }
}

void Trace::survey() {
  definitions_ = {};
  missing_definitions_ = 0;
  samples_ = {};
  Survey survey;
  std::uint64_t done = 0;
  format::Stamp last = 0;
  const auto read = [&](std::uint32_t thread, const std::vector<Run>& runs, bool threads) {
    std::size_t told = 0; // runs to read: the later ones tell only a time
    format::Stamp here = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if ((runs[i].types & kTold) != 0) told = i + 1;
      if (runs[i].segment != nullptr) here = std::max(here, runs[i].segment->header.last_stamp);
    }
    const auto add = [&](const format::RingRecord& record) {
      definitions_.add(thread, record);
      survey.add(thread, record);
      samples_.add(event_of(thread, record));
    };
    const auto advance = [&](std::uint64_t records) {
      if (progress_ != nullptr) progress_->at("surveying", done += records, records_);
    };
    const std::span<const Run> to_read = std::span<const Run>(runs).first(told);
    const ToldCounts counts = read_told(to_read, {kTaken, add, advance},
                                        threads ? threads_for(records_of(to_read)) : EventsAhead::Threads::one);
    here = std::max(here, counts.last);
    survey.seen(thread, here);
    last = std::max(last, here);
    return counts.missing;
  };
  for (const TracePart& part : parts_) {
    for (const auto& [thread, stream] : part.threads) {
      const std::uint64_t missing = read(thread, stream.definitions, false);
      if (&part == &parts_.front())
        missing_definitions_ += missing; // definitions in windows are in the trace file, too
      read(thread, stream.events, true);
    }
    read(0, part.snapshot, false);
  }
  definitions_.finish();
  facts_ = std::move(survey).finish(definitions_, last);
}

// Makes the totals of a thread look lower than the flows seen, if the snapshot lacks its flows. Such totals do
// not tell what is missing, and the merge ignores totals that are too low.
void Trace::mistrust_totals(const Streams& threads, Beginning& beginning) {
  constexpr std::uint64_t kMuch = ~std::uint64_t{0} >> 1;
  for (const auto& [thread, stream] : threads) {
    if (!stream.events.empty() && stream.events.front().first_sequence != 0)
      beginning.small.try_emplace(thread, format::SmallTotals{kMuch, kMuch, kMuch, kMuch});
  }
}

OrderCounts Trace::each(const std::function<void(const Event&)>& take) const {
  return pass([&take](std::span<const Event> events) {
    for (const Event& event : events) take(event);
    return true;
  });
}

OrderCounts Trace::pass(const TakeBatch& take, Places* places) const {
  files::Budget::of_command().about(path());
  files::Budget::of_command().looks(records_);
  return read(nullptr, take, places);
}

void Trace::continue_from(const Place& place, const TakeBatch& take) const {
  files::Budget::of_command().about(path());
  read(&place, take, nullptr);
}

OrderCounts Trace::read(const Place* from, const TakeBatch& take, Places* places) const {
  OrderCounts sum;
  sum.records = unplaced_;
  sum.missing = missing_between_;
  Beginning beginning;
  for (std::size_t i = from == nullptr ? 0 : from->part; i < parts_.size(); ++i) {
    const TracePart& part = parts_[i];
    if (!part.placed) continue;
    const bool continues = from != nullptr && i == from->part;
    if (!part.snapshot.empty() && !continues) {
      beginning = snapshot(part.snapshot, beginning.ordinal, [&](const Event& event) { take({&event, 1}); });
      mistrust_totals(part.threads, beginning);
    }
    const std::uint64_t before = sum.records;
    EventsAhead order(continues ? *from->order : Order(part.threads, beginning),
                      threads_for(records_in(part.threads)), places == nullptr ? nullptr : &places->stride);
    for (auto events = order.next(); !events.empty(); events = order.next()) {
      if (!take(events)) return sum;
      if (progress_ != nullptr) progress_->at("replaying", before + order.records(), records_);
      if (auto copy = order.copy()) places->reached({i, std::move(copy)});
    }
    const OrderCounts counts = order.counts();
    sum.records += counts.records;
    sum.missing += counts.missing;
    sum.too_low = std::max(sum.too_low, counts.too_low);
    sum.too_high = std::max(sum.too_high, counts.too_high);
    sum.end_known = counts.end_known;
    beginning = {order.ordinal(), {}};
  }
  return sum;
}

std::uint64_t Trace::bytes() const {
  std::uint64_t sum = index_.bytes() + rollup_.bytes;
  for (const WindowFile& window : windows_) sum += window.index->bytes();
  return sum;
}

void Losses::damage(std::uint64_t bytes, std::uint64_t at, const std::string& path) {
  if (bytes == 0) return;
  if (damaged_bytes == 0) {
    damaged_at = at;
    damaged_file = path.substr(path.rfind('/') + 1);
  }
  damaged_bytes += bytes;
}

Losses Trace::losses(const OrderCounts& counts) const {
  Losses losses;
  std::uint64_t torn = index_.damage().torn_records;
  losses.damage(index_.damage().bytes, index_.damage().first_offset, file_.path());
  for (const WindowFile& window : windows_) {
    const Damage& damage = window.index->damage();
    losses.damage(damage.bytes, damage.first_offset, window.file->path());
    torn += damage.torn_records;
  }
  if (!rollup_.rollup && rollup_.newer == 0) losses.damage(rollup_.bytes, 0, stem_of(file_.path()) + ".coarse");
  losses.coarsened = rollup_.rollup ? rollup_.rollup->header.coarsened : std::max(folded_, facts_.coarsened);
  losses.rows_missing = folded_ != 0 && !rollup_.rollup;
  if (rings_) losses.damage(rings_->missing, 0, stem_of(file_.path()) + ".rings");
  if (rings_ && rings_->header.shut_since != 0) {
    losses.shut_since = rings_->header.shut_since;
    losses.shut_why = std::min<std::uint64_t>(rings_->header.shut_why, format::kLosses);
  }
  for (std::size_t i = 0; i < format::kLosses; ++i) {
    std::uint64_t count = rings_ ? rings_->header.lost[i] : 0;
    // A process that ended in an orderly way has no ring file: it left its totals in notes.
    if (const auto note = facts_.note(std::string("lost.") + format::kLossNames[i])) {
      std::uint64_t said = 0;
      std::from_chars(note->data(), note->data() + note->size(), said);
      count = std::max(count, said);
    }
    if (static_cast<format::Loss>(i) == format::Loss::stacks) {
      losses.cut_stacks = count;
    } else if (count != 0) {
      losses.events[format::kLossNames[i]] = count;
    }
  }
  // Events that the writer counts as lost never had a number. So a gap has another cause: damage.
  const std::uint64_t gaps = counts.missing + missing_definitions_;
  if (gaps != 0) losses.events["gap"] = gaps;
  // If there are rings, they still have the records of a torn tail.
  if (!rings_ && torn != 0) losses.events["torn"] = torn;
  return losses;
}

} // namespace memtrace::trace
