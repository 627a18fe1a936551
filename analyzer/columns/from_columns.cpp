// Purpose: makes a trace file from its columns.
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/columns/file_columns.h"
#include "analyzer/columns/record_columns.h"
#include "analyzer/columns/run_columns.h"

namespace memtrace::columns {
namespace {

constexpr std::uint32_t kLargestBlock = 1u << 26;               // a writer's has 43 MiB at most
constexpr std::uint32_t kMostRecords = format::kMaxPayload / 2; // of a segment: each has a mask and a stamp

} // namespace

class FromColumns::Restoring {
 public:
  explicit Restoring(std::function<void(std::string_view)> take) : take_(std::move(take)) {}

  bool add(std::string_view piece) {
    waiting_ += piece;
    std::size_t at = 0;
    for (BlockStart start{}; waiting_.size() - at >= sizeof start;) {
      std::memcpy(&start, waiting_.data() + at, sizeof start);
      if (start.bytes > kLargestBlock) return false;
      if (waiting_.size() - at - sizeof start < start.bytes) break;
      if (!block(std::string_view(waiting_).substr(at + sizeof start, start.bytes), start.checksum))
        return false;
      at += sizeof start + start.bytes;
    }
    waiting_.erase(0, at);
    return true;
  }
  bool at_end() const { return waiting_.empty(); }

 private:
  bool block(std::string_view bytes, std::uint32_t expected) {
    ColumnInput in(bytes);
    if (in.at_end(kRuns)) return false; // else 9 bytes would be a block
    std::uint32_t sum = 0;
    while (!in.failed() && !in.at_end(kRuns)) {
      std::optional<std::string> segment;
      const std::uint64_t count = runs_.bytes(in, 0);
      const std::string_view run = count != 0 ? in.text(kBytes, count) : read_segment(in, segment);
      if (in.failed()) return false;
      sum = checksum(sum, run);
      take_(run);
    }
    return !in.failed() && sum == expected;
  }

  std::string_view read_segment(ColumnInput& in, std::optional<std::string>& segment) {
    SegmentStart start;
    runs_.start(in, start);
    if (start.records > kMostRecords) in.fail();
    records_.clear();
    for (std::uint32_t i = 0; i < start.records && !in.failed(); ++i) {
      format::RingRecord record{};
      columns_.code(in, record);
      records_.push_back(record);
    }
    if (!in.failed()) segment = coding_.segment(start, records_);
    if (!segment) in.fail();
    return segment ? std::string_view(*segment) : std::string_view();
  }

  std::function<void(std::string_view)> take_;
  std::string waiting_; // of a block that is incomplete
  SegmentCoding coding_;
  RunColumns<ColumnInput> runs_;
  RecordColumns<ColumnInput> columns_;
  std::vector<format::RingRecord> records_;
};

FromColumns::FromColumns(std::function<void(std::string_view)> take)
    : restoring_(std::make_unique<Restoring>(std::move(take))) {}
FromColumns::~FromColumns() = default;

bool FromColumns::add(std::string_view piece) {
  return restoring_->add(piece);
}

bool FromColumns::at_end() const {
  return restoring_->at_end();
}

} // namespace memtrace::columns
