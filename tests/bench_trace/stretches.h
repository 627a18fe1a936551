// Purpose: the keyframes of a large trace, written by the recorder's own code: one trace in a process.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "preload/format/file_headers.h"

namespace memtrace::tests {

class Stretches {
 public:
  // Creates the trace file. `text_of` gives the text of an id. Throws std::runtime_error if the file cannot be
  // created.
  using TextOf = std::string (*)(format::TextId id);
  Stretches(const std::string& path, std::uint64_t trace_id, TextOf text_of);

  // Throws std::runtime_error if the file cannot be written.
  static void append(const format::SegmentHeader& header, const std::uint8_t* payload);
  static void define(const format::RingRecord& record);
  void put(std::uint32_t thread, const format::RingRecord& record) { pass_.emplace_back(thread, record); }
  // Ends a pass over all threads. True if a stretch began, so that no coding may continue.
  bool end_pass();
  static std::uint64_t bytes();

 private:
  std::vector<std::pair<std::uint32_t, format::RingRecord>> pass_;
};

} // namespace memtrace::tests
