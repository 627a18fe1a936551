// Purpose: the records of each segment of a file, decoded thread by thread.
#include "analyzer/pack/redact/segment_records.h"

#include <map>
#include <memory>
#include <utility>

#include "analyzer/decode/segment_decoder.h"

namespace memtrace::redact {
namespace {

// Follows the coding of one thread and source.
class Chain {
 public:
  SegmentRecords next(const trace::File& file, const trace::Segment& segment, std::size_t index) {
    SegmentRecords out{index, {}, false};
    const format::SegmentHeader& header = segment.header;
    const bool continues = (header.flags & format::kContinues) != 0;
    const auto source = static_cast<format::Source>(header.source);
    const bool known = source <= format::Source::snapshot || source == format::Source::keyframe;
    out.readable = known && (!continues || (whole_ && coded_to_ == header.first_sequence));
    whole_ = false;
    if (!out.readable) return out;
    if (!continues) model_->restart();
    std::vector<std::uint8_t> payload(header.payload_bytes);
    payload.resize(file.read(segment.offset + sizeof header, payload.data(), payload.size()));
    trace::Decoder decoder(payload, *model_);
    format::RingRecord record{};
    while (out.records.size() < header.records && decoder.next(record)) out.records.push_back(record);
    whole_ = out.records.size() == header.records;
    coded_to_ = header.first_sequence + header.records;
    return out;
  }

 private:
  std::unique_ptr<trace::Model> model_ = std::make_unique<trace::Model>();
  bool whole_ = false;         // the segment before was read to its end
  std::uint64_t coded_to_ = 0; // the sequence number behind that end
};

} // namespace

void each_segment(const trace::File& file, const trace::SegmentIndex& index,
                  const std::function<void(SegmentRecords&)>& take) {
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::vector<std::size_t>> chains;
  const std::vector<trace::Segment>& all = index.segments();
  for (std::size_t i = 0; i < all.size(); ++i)
    chains[{all[i].header.thread, all[i].header.source}].push_back(i);
  for (const auto& [of, segments] : chains) {
    Chain chain;
    for (const std::size_t i : segments) {
      SegmentRecords records = chain.next(file, all[i], i);
      take(records);
    }
  }
}

} // namespace memtrace::redact
