// Purpose: divides the files of a trace into parts, each without missing records, and chooses what --quick
// reads.
#include <algorithm>

#include "analyzer/trace/trace.h"

namespace memtrace::trace {

using format::Source;

// Without rows that stand for the rest, nothing is left out.
void Trace::leave_out() {
  const std::string stem = stem_of(file_.path());
  windows_ = find_windows(stem, index_.trace_id(), Verify::kept);
  std::vector<ListedFile> listed{{&file_, &index_}};
  for (const WindowFile& window : windows_) {
    if (window.number) listed.push_back({window.file.get(), window.index.get()});
  }
  LeftOut left_out{std::vector<std::vector<bool>>(listed.size()), 0};
  if (read_rollup(stem + ".coarse", index_.trace_id()).rollup) left_out = choose_quickly(listed);
  left_out_ = left_out.records;
  index_.keep(left_out.segments[0]);
  std::size_t at = 0; // windows without a number come last
  for (WindowFile& window : windows_)
    window.index->keep(++at < listed.size() ? left_out.segments[at] : std::vector<bool>{});
}

// Returns the last part if it has no events yet, else a new one.
Trace::TracePart& Trace::new_part() {
  const bool empty = parts_.back().snapshot.empty() && parts_.back().threads.empty();
  return empty && parts_.size() > 1 ? parts_.back() : parts_.emplace_back();
}

// Adds the segments of a file to the last part. After a stretch that is left out, a new part begins with the
// keyframe there. Without a keyframe, the events have no place. If the last part continues (not
// `with_snapshot`), the state at the begin of the file is not needed.
void Trace::take(const File& file, const SegmentIndex& index, bool with_snapshot) {
  bool in_keyframe = false;
  for (const Segment& segment : index.segments()) {
    const auto source = static_cast<Source>(segment.header.source);
    if (segment.after_left_out && is_of_stretch(source)) {
      in_keyframe = source == Source::keyframe && has_type(segment.header, format::EventType::window);
      TracePart& part = new_part();
      part.placed = in_keyframe;
      part.follows = false;
    }
    if (source == Source::keyframe) {
      if (in_keyframe) parts_.back().snapshot.push_back(keyframe_run_of(file, segment));
      if ((segment.header.flags & format::kWhole) != 0) in_keyframe = false;
      continue;
    }
    const std::optional<Run> run = run_of(file, segment);
    if (!run) continue;
    if (source == Source::snapshot) {
      if (with_snapshot) parts_.back().snapshot.push_back(*run);
      continue;
    }
    TracePart& part = source == Source::definitions && &index == &index_ ? parts_.front() : parts_.back();
    Stream& stream = part.threads[segment.header.thread];
    stream.thread = segment.header.thread;
    (source == Source::definitions ? stream.definitions : stream.events).push_back(*run);
  }
}

// Collects the trace file, then the windows. A window belongs to the part of the window before if no records
// are missing between them.
void Trace::build_parts() {
  parts_.clear();
  parts_.emplace_back();
  take(file_, index_, false);
  std::uint32_t number = 0;
  bool whole = index_.damage().bytes == 0, left_out = index_.ends_left_out();
  for (const WindowFile& window : windows_) {
    // A process that is killed while it begins a window leaves an empty window. The records in its rings follow
    // the window before.
    if (!window.number && window.index->segments().empty()) continue;
    const bool follows = window.number && *window.number == number + 1 && !left_out;
    const bool continues = follows && whole;
    if (!continues) {
      TracePart& part = new_part();
      part.follows = follows;
      part.placed = window.number.has_value();
    }
    take(*window.file, *window.index, !continues);
    number = window.number.value_or(number);
    whole = window.index->damage().bytes == 0;
    left_out = window.index->ends_left_out();
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

} // namespace memtrace::trace
