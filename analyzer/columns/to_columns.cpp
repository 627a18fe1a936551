// Purpose: puts the records of a trace file into columns.
#include <algorithm>
#include <cstring>
#include <vector>

#include "analyzer/columns/file_columns.h"
#include "analyzer/columns/record_columns.h"
#include "analyzer/columns/run_columns.h"
#include "preload/format/file_headers.h"

namespace memtrace::columns {
namespace {

// A block ends with the segment or with the bytes that reach one of these. Blocks of twice as many records give
// files that are 3 % smaller, and a reader needs the memory of a block.
constexpr std::uint64_t kRecordsOfBlock = 1 << 16;
constexpr std::uint64_t kBytesOfBlock = 1 << 20;

// Returns the segment at the start of `file`, or nothing if there is no whole one.
std::string_view segment_at(std::string_view file) {
  format::SegmentHeader header{};
  if (file.size() < sizeof(format::SegmentHeader)) return {};
  std::memcpy(&header, file.data(), sizeof(format::SegmentHeader));
  if (std::memcmp(header.magic, format::kSegmentMagic, sizeof header.magic) != 0 ||
      !format::is_known(header.version) || header.payload_bytes > format::kMaxPayload ||
      header.payload_bytes > file.size() - sizeof(format::SegmentHeader))
    return {};
  return file.substr(0, sizeof(format::SegmentHeader) + header.payload_bytes);
}

class Columns {
 public:
  Columns(std::string_view file, const std::function<void(std::string_view)>& take)
      : file_(file), take_(take) {}

  void write() {
    while (at_ < file_.size()) {
      const std::string_view segment = segment_at(file_.substr(at_));
      SegmentStart start;
      const std::vector<format::RingRecord>* const records =
          segment.empty() ? nullptr : coding_.records(segment, start);
      if (records != nullptr) {
        put_bytes();
        put_segment(start, *records);
        plain_ = at_ += segment.size();
      } else {
        at_ = std::min(segment.empty() ? next_magic() : at_ + segment.size(), plain_ + kBytesOfBlock);
        if (at_ == plain_ + kBytesOfBlock || at_ == file_.size()) put_bytes();
      }
      if (records_ >= kRecordsOfBlock || at_ - block_ >= kBytesOfBlock || at_ == file_.size()) end_block();
    }
  }

 private:
  std::size_t next_magic() const {
    const std::string_view magic(format::kSegmentMagic, sizeof format::kSegmentMagic);
    return std::min(file_.find(magic, at_ + 1), file_.size());
  }
  void put_bytes() {
    if (plain_ == at_) return;
    runs_.bytes(out_, at_ - plain_);
    out_.text(kBytes, file_.substr(plain_, at_ - plain_));
    plain_ = at_;
  }
  void put_segment(SegmentStart& start, const std::vector<format::RingRecord>& records) {
    runs_.bytes(out_, 0);
    runs_.start(out_, start);
    for (format::RingRecord record : records) records_columns_.code(out_, record);
    records_ += records.size();
  }
  void end_block() {
    put_bytes();
    const std::string block = out_.take();
    const BlockStart start{static_cast<std::uint32_t>(block.size()),
                           checksum(0, file_.substr(block_, at_ - block_))};
    take_({reinterpret_cast<const char*>(&start), sizeof start});
    take_(block);
    block_ = at_;
    records_ = 0;
  }

  std::string_view file_;
  const std::function<void(std::string_view)>& take_;
  std::size_t at_ = 0;
  std::size_t plain_ = 0; // the bytes from here to `at_` are in no segment that was coded
  std::size_t block_ = 0; // the first byte of the block
  std::uint64_t records_ = 0;
  SegmentCoding coding_;
  ColumnOutput out_;
  RunColumns<ColumnOutput> runs_;
  RecordColumns<ColumnOutput> records_columns_;
};

} // namespace

void to_columns(std::string_view file, const std::function<void(std::string_view)>& take) {
  Columns(file, take).write();
}

} // namespace memtrace::columns
