// Purpose: fuzz inputs that are segments: taken apart, their checksums mended, put together.
#include "segment_edit.h"

#include <memory>

#include "analyzer/decode/segment_decoder.h"
#include "bytes.h"
#include "preload/format/crc32c.h"
#include "preload/trace/record_encoder.h"

namespace memtrace::tests {
namespace {

using format::RingRecord;
using format::SegmentHeader;

constexpr std::size_t kHeader = sizeof(SegmentHeader);

std::string_view magic() {
  return {format::kSegmentMagic, sizeof format::kSegmentMagic};
}

// A model is large, and a restart is cheap: one for all inputs. The encoder's and the decoder's have tables of
// their own.
template <class Model>
Model& fresh_model() {
  static const auto model = std::make_unique<Model>();
  model->restart();
  return *model;
}

} // namespace

std::vector<Piece> pieces_of(std::string_view bytes) {
  std::vector<Piece> pieces;
  const auto skip = [&](std::string_view none) {
    if (!none.empty()) pieces.push_back({false, {}, std::string(none)});
  };
  while (!bytes.empty()) {
    const std::size_t at = std::min(bytes.find(magic()), bytes.size());
    skip(bytes.substr(0, at));
    bytes.remove_prefix(at);
    Piece piece{true, {}, {}};
    if (bytes.size() >= kHeader) std::memcpy(&piece.header, bytes.data(), kHeader);
    if (bytes.size() < kHeader || piece.header.payload_bytes > bytes.size() - kHeader) {
      skip(bytes.substr(0, magic().size()));
      bytes.remove_prefix(std::min(bytes.size(), magic().size()));
      continue;
    }
    piece.bytes = bytes.substr(kHeader, piece.header.payload_bytes);
    bytes.remove_prefix(kHeader + piece.bytes.size());
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

std::string joined(const std::vector<Piece>& pieces) {
  std::string out;
  for (const Piece& piece : pieces) {
    if (piece.whole) append(out, piece.header);
    out += piece.bytes;
  }
  return out;
}

std::string with_checksums(std::string_view bytes) {
  std::vector<Piece> pieces = pieces_of(bytes);
  for (Piece& piece : pieces) {
    SegmentHeader& header = piece.header;
    if (!piece.whole || (header.flags & kKeepChecksum) != 0) continue;
    header.checksum = 0;
    header.checksum =
        format::checksum(format::checksum(0, &header, kHeader), piece.bytes.data(), piece.bytes.size());
  }
  return joined(pieces);
}

std::vector<RingRecord> decoded(std::string_view payload, bool& whole) {
  trace::Decoder decoder({reinterpret_cast<const std::uint8_t*>(payload.data()), payload.size()},
                         fresh_model<trace::Model>());
  std::vector<RingRecord> records;
  for (RingRecord record{}; decoder.next(record);) records.push_back(record);
  whole = !decoder.damaged();
  return records;
}

std::string encoded(const std::vector<RingRecord>& records) {
  std::string out((records.size() + 1) * format::kMaxCoded, '\0');
  record::Encoder encoder(reinterpret_cast<std::uint8_t*>(out.data()), out.size(),
                          fresh_model<format::Model>());
  for (const RingRecord& record : records) expect(encoder.add(record), "the encoder refuses a record");
  out.resize(encoder.bytes());
  return out;
}

void expect_round_trip(const std::vector<RingRecord>& records) {
  bool whole = false;
  const std::vector<RingRecord> back = decoded(encoded(records), whole);
  expect(whole && back.size() == records.size(), "records that were encoded cannot be decoded");
  for (std::size_t i = 0; i < records.size(); ++i) {
    RingRecord record = records[i];
    record.commit = 0;
    expect(std::memcmp(&record, &back[i], sizeof record) == 0, "a record is decoded to another one");
  }
}

} // namespace memtrace::tests
