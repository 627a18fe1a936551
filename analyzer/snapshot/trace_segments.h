// Purpose: records -> segments of a trace.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "preload/format/file_headers.h"
#include "preload/trace/record_encoder.h"

namespace memtrace::snapshot {

// The records of one source, of the only thread. Each segment is handed out when it is full.
class TraceSegments {
 public:
  using Take = std::function<void(std::string_view)>;
  TraceSegments(std::uint64_t trace_id, format::Source source, Take take);

  // Their stamps must not fall.
  void add(const format::RingRecord& record);
  // Hands out the last segment, even if it has no record.
  void finish();

 private:
  void begin();

  std::uint64_t trace_id_;
  format::Source source_;
  Take take_;
  std::vector<std::uint8_t> buffer_;
  std::unique_ptr<format::Model> model_;
  std::optional<record::Encoder> encoder_;
  std::uint64_t sequence_ = 0;
};

} // namespace memtrace::snapshot
