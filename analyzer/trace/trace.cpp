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
Trace::Trace(const std::string& path, Progress* progress, ReadExtent extent)
    : progress_(progress),
      file_(path, files::Origin::named),
      index_(file_, progress, extent == ReadExtent::quick ? Verify::kept : Verify::listed) {
  files::Budget::of_command().about(path);
  find_rings(extent);
  const std::string stem = stem_of(file_.path());
  if (extent == ReadExtent::all) windows_ = find_windows(stem, index_.trace_id());
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
void Trace::find_rings(ReadExtent extent) {
  take_rings(stem_of(file_.path()) + ".rings");
  if (extent == ReadExtent::quick) leave_out(); // before the survey, which would read the whole trace
  if (rings_) return;
  build_parts();
  survey();
  if (newer_rings_ != 0) return;
  if (const auto elsewhere = facts_.note("rings")) take_rings(*elsewhere);
  for (const WindowFile& window : windows_) window.index->extend();
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
  const std::uint64_t folded = folded_ > left_out_ ? folded_ - left_out_ : 0;
  losses.coarsened = rollup_.rollup ? rollup_.rollup->header.coarsened : std::max(folded, facts_.coarsened);
  losses.rows_missing = folded_ != 0 && !rollup_.rollup;
  losses.left_out = left_out_;
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
