// Purpose: records of several threads -> segments of a trace file, coded by the recorder's own encoder.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "preload/trace/record_encoder.h"
#include "stretches.h"

namespace memtrace::tests {

class Output {
 public:
  static constexpr std::uint64_t kTraceId = 0x62656E6368212121;
  // Throws std::runtime_error when the file cannot be written, then and later.
  explicit Output(const std::string& path, std::uint64_t trace_id = kTraceId);
  // Gives a large trace keyframes, as the recorder does. One such trace in a process.
  Output(const std::string& path, Stretches::TextOf texts);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void define(const format::RingRecord& record); // in segments of source `definitions`
  // Returns the id of the text. Defines it with this stamp the first time.
  format::TextId text(const std::string& text, format::Stamp stamp);
  void put(std::uint32_t thread, const format::RingRecord& record);
  // What was put so far becomes segments: a drain, which comes about twice a second.
  void drain();

  std::uint64_t bytes() const { return stretches_ ? Stretches::bytes() : bytes_; }
  std::string text_of(format::TextId id) const;
  std::uint64_t records() const { return records_; }

 private:
  struct Segment {
    std::vector<std::uint8_t> payload;
    std::unique_ptr<format::Model> model;
    record::Encoder encoder;
    std::uint64_t sequence = 0;
    std::uint64_t written = 0; // segments
    void begin(bool anew);     // the next one; `anew`: it does not continue the coding
  };
  Segment& segment(std::vector<Segment>& all, std::uint32_t thread);
  void add(Segment& segment, const format::RingRecord& record, std::uint32_t thread, format::Source source);
  void write(Segment& segment, std::uint32_t thread, format::Source source);

  std::FILE* file_ = nullptr;
  std::optional<Stretches> stretches_; // else `file_`
  std::uint64_t trace_id_;
  std::map<std::string, std::uint32_t> texts_;
  std::vector<Segment> definitions_; // one
  std::vector<Segment> threads_;
  std::uint64_t bytes_ = 0;
  std::uint64_t records_ = 0; // events, definitions not counted
};

} // namespace memtrace::tests
