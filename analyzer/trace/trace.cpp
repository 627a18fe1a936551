// Room: trace. The door of the room: what other rooms open and pass over.
// Job: one process's trace, file and rings together.
#include "trace/trace.h"

#include <algorithm>
#include <charconv>

namespace memtrace::trace {
namespace {

using format::Source;

constexpr char kTraceSuffix[] = ".memtrace";

std::string beside(const std::string& path) {
  const std::size_t suffix = sizeof kTraceSuffix - 1;
  const bool named = path.size() > suffix && path.compare(path.size() - suffix, suffix, kTraceSuffix) == 0;
  return (named ? path.substr(0, path.size() - suffix) : path) + ".rings";
}

bool earlier(const Run& a, const Run& b) {
  if (a.source != b.source) return a.source < b.source;
  if (a.first_sequence != b.first_sequence) return a.first_sequence < b.first_sequence;
  return a.records > b.records; // of two that begin alike the longer one first: the other has nothing new
}

} // namespace

std::uint64_t Losses::total() const {
  std::uint64_t sum = 0;
  for (const auto& [reason, count] : events) sum += count;
  return sum;
}

Trace::Trace(const std::string& path) : file_(path), index_(file_) {
  build_streams();
  survey();
  find_rings();
  if (!rings_) return;
  // The rings were read first; what was drained meanwhile is in segments that were not listed yet.
  index_.extend();
  build_streams();
  survey();
}

void Trace::find_rings() {
  const std::uint64_t id = index_.trace_id();
  rings_ = read_rings(beside(file_.path()), id);
  if (rings_) return;
  if (const auto elsewhere = facts_.note("rings")) rings_ = read_rings(*elsewhere, id);
}

void Trace::build_streams() {
  std::map<std::uint32_t, Stream> threads;
  for (const Segment& segment : index_.segments()) {
    const format::SegmentHeader& header = segment.header;
    const auto source = static_cast<Source>(header.source);
    if (source > Source::definitions) continue; // of a later version: nothing we know
    Stream& stream = threads[header.thread];
    auto& runs = source == Source::definitions ? stream.definitions : stream.events;
    // The checksum guards against accidents only; a sequence that runs over would skip what follows it.
    const std::uint64_t first = std::min(header.first_sequence, ~std::uint64_t{0} - header.records);
    runs.push_back({source, first, header.records, header.first_stamp, header.types, &segment, nullptr});
  }
  if (rings_) {
    for (const Leftover& leftover : rings_->slots) {
      Stream& stream = threads[leftover.thread];
      stream.small = leftover.small;
      if (leftover.records.empty()) continue;
      stream.events.push_back({Source::ring, leftover.first_sequence, leftover.records.size(),
                               leftover.records.front().stamp, ~std::uint64_t{0}, nullptr, &leftover});
    }
  }
  streams_.clear();
  for (auto& [thread, stream] : threads) {
    stream.thread = thread;
    std::sort(stream.definitions.begin(), stream.definitions.end(), earlier);
    std::sort(stream.events.begin(), stream.events.end(), earlier);
    streams_.push_back(std::move(stream));
  }
}

void Trace::survey() {
  definitions_ = {};
  missing_definitions_ = 0;
  Survey survey;
  format::Stamp last = 0;
  for (const Stream& stream : streams_) {
    for (const auto* runs : {&stream.definitions, &stream.events}) {
      Cursor cursor(file_, *runs);
      format::RingRecord record{};
      while (cursor.next(record)) {
        definitions_.add(stream.thread, record);
        survey.add(stream.thread, record);
        last = std::max(last, record.stamp);
      }
      if (runs == &stream.definitions) missing_definitions_ += cursor.missing();
    }
  }
  facts_ = std::move(survey).finish(definitions_, last);
}

OrderCounts Trace::each(const std::function<void(const Event&)>& take) const {
  Order order(file_, streams_);
  for (auto events = order.next(); !events.empty(); events = order.next()) {
    for (const Event& event : events) take(event);
  }
  return order.counts();
}

Losses Trace::losses(const OrderCounts& counts) const {
  Losses losses;
  losses.damaged_bytes = index_.damage().bytes;
  losses.damaged_at = index_.damage().first_offset;
  for (std::size_t i = 0; i < format::kLosses; ++i) {
    std::uint64_t count = rings_ ? rings_->header.lost[i] : 0;
    // A process that ended in an orderly way has no ring file: it left its totals in notes.
    if (const auto note = facts_.note(std::string("lost.") + format::kLossNames[i])) {
      std::uint64_t said = 0;
      std::from_chars(note->data(), note->data() + note->size(), said);
      count = std::max(count, said);
    }
    if (count != 0) losses.events[format::kLossNames[i]] = count;
  }
  // What the writer counts as lost never had a number, so a gap is something else: damage.
  const std::uint64_t gaps = counts.missing + missing_definitions_;
  if (gaps != 0) losses.events["gap"] = gaps;
  // Of a torn tail the rings still have what was being written, where they are there.
  if (!rings_ && index_.damage().torn_records != 0) losses.events["torn"] = index_.damage().torn_records;
  return losses;
}

} // namespace memtrace::trace
