// Purpose: records -> segments of a trace.
#include "analyzer/snapshot/trace_segments.h"

#include <utility>

namespace memtrace::snapshot {

TraceSegments::TraceSegments(std::uint64_t trace_id, format::Source source, Take take)
    : trace_id_(trace_id),
      source_(source),
      take_(std::move(take)),
      buffer_(format::kMaxPayload),
      model_(std::make_unique<format::Model>()) {
  begin();
}

void TraceSegments::begin() {
  model_->restart();
  encoder_.emplace(buffer_.data(), buffer_.size(), *model_);
}

void TraceSegments::add(const format::RingRecord& record) {
  if (encoder_->add(record)) return;
  finish();
  encoder_->add(record);
}

void TraceSegments::finish() {
  const format::SegmentHeader header = encoder_->header(trace_id_, 0, source_, sequence_);
  take_({reinterpret_cast<const char*>(&header), sizeof header});
  take_({reinterpret_cast<const char*>(buffer_.data()), encoder_->bytes()});
  sequence_ += encoder_->records();
  begin();
}

} // namespace memtrace::snapshot
