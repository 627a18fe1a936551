// Purpose: decodes the segments of a file that grows, those of one type of record, without keeping the others.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "analyzer/decode/growing_model.h"
#include "analyzer/decode/segment_file.h"

namespace memtrace::trace {

class SegmentStream {
 public:
  using Take = std::function<void(std::uint32_t thread, const format::RingRecord& record)>;

  // `types`: bit EventType of what the caller wants. Other records may come, too.
  explicit SegmentStream(std::uint64_t types) : types_(types) {}

  // Gives the records of a segment to `take`. The segments of a file come in its order.
  void read(const File& file, const Segment& segment, const Take& take);

 private:
  // The coding of a segment may continue that of the one before. So a segment without a wanted type is decoded
  // later, only if one that continues it has such a type.
  struct StreamCoding {
    std::unique_ptr<Model> model;
    std::vector<Segment> skipped;
    bool broken = false; // an earlier part of this coding could not be read
  };
  static constexpr std::size_t kMostSkipped = 1024; // then they are decoded, so that the list stays short

  bool decode(const File& file, const Segment& segment, StreamCoding& coding, const Take* take);

  std::uint64_t types_;
  std::map<std::pair<std::uint32_t, std::uint8_t>, StreamCoding> codings_; // by thread and source
};

} // namespace memtrace::trace
