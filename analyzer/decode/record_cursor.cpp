// Purpose: one thread's records in order, each once, from its segments and its ring.
#include "analyzer/decode/record_cursor.h"

#include <algorithm>

namespace memtrace::trace {

using format::Source;

namespace {

// The checksum guards against accidents only. If a forged sequence overflowed, the runs after it would be
// skipped.
Run run_as(Source source, const File& file, const Segment& segment) {
  const format::SegmentHeader& header = segment.header;
  const std::uint64_t first = std::min(header.first_sequence, ~std::uint64_t{0} - header.records);
  return {source, first, header.records, header.first_stamp, header.types, &file, &segment, nullptr, false};
}

} // namespace

std::optional<Run> run_of(const File& file, const Segment& segment) {
  const auto source = static_cast<Source>(segment.header.source);
  if (source > Source::snapshot) return std::nullopt; // a keyframe, or of a later version
  return run_as(source, file, segment);
}

Run keyframe_run_of(const File& file, const Segment& segment) {
  return run_as(Source::snapshot, file, segment);
}

Run run_of(const Leftover& leftover) {
  return {format::Source::ring,
          leftover.first_sequence,
          leftover.records.size(),
          leftover.records.front().stamp,
          ~std::uint64_t{0},
          nullptr,
          nullptr,
          &leftover,
          false};
}

bool earlier(const Run& a, const Run& b) {
  if (a.source != b.source) return a.source < b.source;
  if (a.first_sequence != b.first_sequence) return a.first_sequence < b.first_sequence;
  return a.records > b.records;
}

Cursor::Cursor(const Cursor& other)
    : runs_(other.runs_),
      run_(other.run_),
      follows_(other.follows_),
      open_(other.open_),
      in_run_(other.in_run_),
      expected_(other.expected_),
      source_(other.source_),
      after_gap_(other.after_gap_),
      gap_ahead_(other.gap_ahead_),
      missing_(other.missing_),
      payload_(other.payload_),
      model_(other.model_ == nullptr ? nullptr : std::make_unique<Model>(*other.model_)),
      coded_to_(other.coded_to_) {
  if (other.decoder_) decoder_.emplace(*other.decoder_, other.payload_.data(), payload_, *model_);
}

std::size_t Cursor::bytes() const {
  return sizeof *this + payload_.size() + (model_ == nullptr ? 0 : model_->bytes());
}

// Prepares the model for a segment. Returns false if the segment cannot be read: its coding continues that of
// the one before, which was not read completely.
bool Cursor::prepare_model(const Run& run) {
  if (model_ == nullptr) model_ = std::make_unique<Model>();
  const bool continues = (run.segment->header.flags & format::kContinues) != 0;
  if (continues) return coded_to_ == run.first_sequence;
  model_->restart();
  return true;
}

// True if all records of the run were given, or it is empty. If more runs may come, a segment is decoded all
// the same: its records were given from a ring, and the next segment continues its coding.
bool Cursor::is_given(const Run& run) const {
  const std::uint64_t end = run.first_sequence + run.records;
  return end <= expected_ && (!follows_ || run.segment == nullptr || end <= coded_to_.value_or(0));
}

// Opens the next run that has new records. Returns false after the last run.
bool Cursor::open_next() {
  while (run_ < runs_.size()) {
    const Run& run = runs_[run_++];
    if (run.source != source_) {
      source_ = run.source;
      expected_ = 0;
      coded_to_.reset();
    }
    if (is_given(run)) continue;
    if (run.fresh) expected_ = std::max(expected_, run.first_sequence);
    if (run.first_sequence > expected_) {
      missing_ += run.first_sequence - expected_;
      expected_ = run.first_sequence;
      gap_ahead_ = true;
    }
    if (run.segment != nullptr && !prepare_model(run)) {
      missing_ += run.first_sequence + run.records - expected_;
      expected_ = run.first_sequence + run.records;
      gap_ahead_ = true;
      continue;
    }
    open_ = &run;
    in_run_ = 0;
    if (run.segment != nullptr) {
      payload_.resize(run.segment->header.payload_bytes);
      payload_.resize(run.file->read(run.segment->offset + sizeof(format::SegmentHeader), payload_.data(),
                                     payload_.size()));
      decoder_.emplace(payload_, *model_);
    }
    return true;
  }
  payload_ = {}; // a finished thread does not retain memory
  decoder_.reset();
  if (follows_) return false;
  model_.reset();
  return false;
}

// Reads the next record of the open run, whether it was given before or not. Returns false at the end of the
// run.
bool Cursor::from_run(format::RingRecord& out) {
  if (in_run_ >= open_->records) return false;
  if (open_->leftover != nullptr) {
    out = open_->leftover->records[in_run_];
  } else if (!decoder_->next(out)) {
    coded_to_.reset();
    // The checksum is right, but the records end early. This is an error of the writer, and it counts as a
    // loss.
    missing_ += open_->records - in_run_;
    expected_ = std::max(expected_, open_->first_sequence + open_->records);
    return false;
  }
  ++in_run_;
  if (open_->segment != nullptr) coded_to_ = open_->first_sequence + in_run_;
  return true;
}

bool Cursor::next(format::RingRecord& out) {
  for (;;) {
    if (open_ == nullptr && !open_next()) return false;
    if (!from_run(out)) {
      open_ = nullptr;
      continue;
    }
    const std::uint64_t sequence = open_->first_sequence + in_run_ - 1;
    if (sequence < expected_) continue;
    expected_ = sequence + 1;
    after_gap_ = gap_ahead_;
    gap_ahead_ = false;
    return true;
  }
}

format::Stamp Cursor::next_not_before() const {
  return run_ < runs_.size() ? runs_[run_].first_stamp : ~format::Stamp{0};
}

} // namespace memtrace::trace
