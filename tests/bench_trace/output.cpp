// Purpose: records of several threads -> segments of a trace file, coded by the recorder's own encoder.
#include "output.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "preload/format/event_fields.h"

namespace memtrace::tests {
namespace {

constexpr std::uint32_t kSegmentRecords = 1500; // a ring is drained when it is about so full
constexpr std::uint64_t kRestart = 16;          // segments that are coded on from each other
constexpr std::size_t kBuffer = kSegmentRecords * format::kMaxCoded;

} // namespace

Output::Output(const std::string& path, std::uint64_t trace_id)
    : file_(std::fopen(path.c_str(), "wb")), trace_id_(trace_id) {
  if (file_ == nullptr) throw std::runtime_error(path + ": cannot be written");
  std::setvbuf(file_, nullptr, _IOFBF, 1 << 20);
}

Output::Output(const std::string& path, Stretches::TextOf texts) : trace_id_(kTraceId) {
  stretches_.emplace(path, kTraceId, texts);
}

Output::~Output() {
  if (file_ != nullptr) std::fclose(file_);
}

Output::Segment& Output::segment(std::vector<Segment>& all, std::uint32_t thread) {
  while (all.size() <= thread) {
    std::vector<std::uint8_t> payload(kBuffer);
    auto model = std::make_unique<format::Model>();
    const record::Encoder encoder(payload.data(), payload.size(), *model);
    all.push_back({std::move(payload), std::move(model), encoder});
  }
  return all[thread];
}

void Output::add(Segment& segment, const format::RingRecord& record, std::uint32_t thread,
                 format::Source source) {
  if (segment.encoder.records() == kSegmentRecords) write(segment, thread, source);
  if (!segment.encoder.add(record)) throw std::logic_error("the encoder refused a record");
}

void Output::write(Segment& segment, std::uint32_t thread, format::Source source) {
  if (segment.encoder.records() == 0) return;
  const format::SegmentHeader header = segment.encoder.header(trace_id_, thread, source, segment.sequence);
  if (stretches_) {
    Stretches::append(header, segment.payload.data());
  } else if (std::fwrite(&header, sizeof header, 1, file_) != 1 ||
             std::fwrite(segment.payload.data(), 1, segment.encoder.bytes(), file_) !=
                 segment.encoder.bytes()) {
    throw std::runtime_error("the trace could not be written");
  }
  segment.sequence += segment.encoder.records();
  bytes_ += sizeof header + segment.encoder.bytes();
  segment.begin(++segment.written % kRestart == 0);
}

void Output::Segment::begin(bool anew) {
  if (anew) model->restart();
  encoder = record::Encoder(payload.data(), payload.size(), *model);
}

void Output::define(const format::RingRecord& record) {
  if (stretches_) return Stretches::define(record);
  add(segment(definitions_, 0), record, 0, format::Source::definitions);
}

format::TextId Output::text(const std::string& text, format::Stamp stamp) {
  const auto [at, fresh] = texts_.try_emplace(text, static_cast<std::uint32_t>(texts_.size() + 1));
  for (std::size_t done = 0; fresh && done < text.size();) {
    const std::size_t here = std::min(text.size() - done, format::kTextChunk);
    format::RingRecord chunk{};
    chunk.stamp = stamp;
    format::TextEvent event{format::TextId{at->second}, 0, {}};
    std::memcpy(event.bytes, text.data() + done, here);
    chunk.put(event);
    done += here;
    chunk.flags = static_cast<std::uint16_t>(here | (done < text.size() ? format::kTextMore : 0));
    define(chunk);
  }
  return format::TextId{at->second};
}

std::string Output::text_of(format::TextId id) const {
  for (const auto& [text, number] : texts_)
    if (format::TextId{number} == id) return text;
  return "";
}

void Output::put(std::uint32_t thread, const format::RingRecord& record) {
  ++records_;
  if (stretches_) stretches_->put(thread, record);
  add(segment(threads_, thread), record, thread, format::Source::ring);
}

void Output::drain() {
  for (Segment& segment : definitions_) write(segment, 0, format::Source::definitions);
  for (std::size_t i = 0; i < threads_.size(); ++i)
    write(threads_[i], static_cast<std::uint32_t>(i), format::Source::ring);
  if (stretches_) {
    if (!stretches_->end_pass()) return;
    for (Segment& segment : threads_) segment.begin(true);
    return;
  }
  if (std::fflush(file_) != 0) throw std::runtime_error("the trace could not be written");
}

} // namespace memtrace::tests
