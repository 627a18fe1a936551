// Purpose: records -> the bytes of a trace, with invented addresses and times, and its own account of the
// levels.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "preload/format/file_headers.h"

namespace memtrace::tests {

using format::EventType;
using format::Kind;

// One memory's level as the writer counts it, event by event.
struct Level {
  std::int64_t now = 0;
  std::int64_t peak = 0;
  void add(std::int64_t bytes) {
    now += bytes;
    if (now > peak) peak = now;
  }
};

class Writer {
 public:
  static constexpr std::uint64_t kTraceId = 0x676F6C64656E2121;
  static constexpr std::uint64_t kStart = 5'000'000'000'000; // stamp of the process's start
  static constexpr std::uint64_t kUnix = 1'700'000'000'000'000'000;

  std::uint32_t text(const std::string& text);
  std::uint32_t python(const std::string& function, const std::string& file, std::uint32_t line,
                       std::uint32_t caller);
  std::uint32_t native(std::uint64_t address, std::uint32_t caller);
  void define(EventType type, std::uint16_t flags, const std::vector<std::uint64_t>& words);

  // Events of `thread`, a microsecond after the last one.
  void put(std::uint32_t thread, EventType type, std::uint8_t kind, std::uint16_t flags,
           const std::vector<std::uint64_t>& words);
  void wait(std::uint64_t ns) { stamp_ += ns; }

  struct Block {
    std::uint64_t address = 0;
    std::uint64_t given = 0;
    std::uint64_t asked = 0;
    Kind kind = Kind::heap;
    std::uint16_t flags = 0;
  };
  Block born(std::uint64_t asked, std::uint32_t stack, Kind kind = Kind::heap, std::uint16_t flags = 0,
             std::uint32_t thread = 1);
  void died(const Block& block, std::uint32_t thread = 1);
  Block moved(const Block& block, std::uint64_t asked, std::uint32_t stack);
  void opened(const Block& block); // a reservation that mprotect makes memory
  void small(std::uint64_t allocated, std::uint64_t freed, std::uint32_t thread = 1);
  void begin(const std::string& phase);
  void end(const std::string& phase);

  // What was put so far becomes a segment of each thread; `cold` for what came before recording.
  void cut(format::Source source);
  std::string bytes() const;

  std::map<unsigned, Level> live;   // by memory
  std::map<unsigned, Level> tensor; // as asked

 private:
  void count(const Block& block, std::int64_t sign);

  std::uint64_t stamp_ = kStart;
  std::uint64_t address_ = 0x7F0000000000;
  std::uint32_t depth_ = 0;
  std::uint32_t codes_ = 0;
  std::uint32_t stacks_ = 0;
  std::map<std::string, std::uint32_t> texts_;
  std::vector<format::RingRecord> definitions_;
  std::map<std::uint32_t, std::vector<format::RingRecord>> open_;
  std::map<std::pair<format::Source, std::uint32_t>, std::uint64_t> sequences_;
  std::string segments_;
};

} // namespace memtrace::tests
