// Purpose: writes traces as the recorder would, and damaged ones as it would not.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "preload/format/file_headers.h"

namespace memtrace::tests {

using format::EventType;
using format::Kind;
using format::RingRecord;
using format::Source;

// A directory of its own for each test, removed with everything in it.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);

// Flows of small blocks that a record carries.
struct Small {
  std::uint32_t allocated = 0;
  std::uint32_t freed = 0;
  std::uint32_t births = 0;
  std::uint32_t deaths = 0;
};

// Records of threads, in the order of the calls: each gets the next stamp, a microsecond after the last one.
class Builder {
 public:
  static constexpr std::uint64_t kTraceId = 0x1122334455667788;
  static constexpr std::uint64_t kStart = 1'000'000'000; // stamp of the process record
  static constexpr std::uint64_t kUnix = 1'700'000'000'000'000'000;

  Builder();

  // Ids. Equal texts get one id.
  std::uint32_t text(const std::string& text);
  std::uint32_t python_frame(const std::string& function, const std::string& file, std::uint32_t line,
                             std::uint32_t caller);
  std::uint32_t native_frame(std::uint64_t return_address, std::uint32_t caller);
  void module(const std::string& path, std::uint64_t bias, std::uint64_t first, std::uint32_t pages,
              const std::vector<std::uint8_t>& build_id);

  // Records of the current thread.
  Builder& on(std::uint32_t thread);
  Builder& birth(std::uint64_t address, std::uint64_t given, Kind kind = Kind::heap, std::uint16_t flags = 0,
                 std::uint32_t stack = 0, std::uint64_t asked = 0, Small small = {});
  Builder& tensor(std::uint64_t address, std::uint64_t asked, std::uint32_t stack = 0);
  Builder& death(std::uint64_t address, std::uint64_t given = 0, Kind kind = Kind::heap,
                 std::uint16_t flags = 0, Small small = {});
  Builder& tensor_death(std::uint64_t address) { return death(address, 0, Kind::heap, format::kTensor); }
  Builder& unmap(std::uint64_t address, std::uint64_t bytes, std::uint16_t flags = 0);
  Builder& move(std::uint64_t from, std::uint64_t to, std::uint64_t given, std::uint64_t before,
                std::uint32_t later_ns = 1, Kind kind = Kind::heap);
  // mremap. `before` 0: the old mapping stays.
  Builder& remap(std::uint64_t from, std::uint64_t to, std::uint64_t given, std::uint64_t before,
                 std::uint32_t later_ns = 1);
  Builder& protect(std::uint64_t address, std::uint64_t bytes, std::uint32_t protection);
  Builder& counters(std::uint64_t allocated, std::uint64_t freed, std::uint64_t births, std::uint64_t deaths);
  Builder& begin(const std::string& phase, std::uint16_t flags = format::kAuto);
  Builder& end(const std::string& phase, std::uint16_t flags = 0);
  Builder& step(std::uint64_t number);
  Builder& exit(std::uint32_t code, format::EndHow how = format::EndHow::exit);
  Builder& sample(std::uint64_t anon, std::uint64_t file, std::uint64_t shmem, std::uint64_t high_water);
  Builder& parameters(std::uint64_t count, std::uint64_t bytes, std::uint64_t tensors);
  Builder& fork(std::uint64_t live, std::uint64_t tensor);
  Builder& armed(std::uint64_t live, std::uint64_t tensor); // what the process held when it was called
  Builder& note(const std::string& text);
  Builder& rank(std::uint32_t rank,
                std::uint32_t world); // as the environment at the start of the process has it
  // Anything. The stamp is filled in when it is 0.
  Builder& put(EventType type, std::uint8_t kind, std::uint16_t flags, const std::vector<std::uint64_t>& words,
               std::uint64_t stamp = 0);

  std::uint64_t now() const { return stamp_; }
  Builder& wait(std::uint64_t ns) {
    stamp_ += ns;
    return *this;
  }

  const std::vector<RingRecord>& records(std::uint32_t thread) { return threads_[thread]; }

  // The whole trace: definitions, then segments of `per_segment` records, threads in turn.
  std::string bytes(std::size_t per_segment = 64);
  // One segment of what was put for `thread`, from record `first`; `count` records.
  std::string segment(std::uint32_t thread, std::size_t first, std::size_t count, Source source = Source::ring);
  std::string definitions();

 private:
  void define(EventType type, std::uint8_t kind, std::uint16_t flags, const std::vector<std::uint64_t>& words);

  std::uint64_t stamp_ = kStart;
  std::uint32_t thread_ = 0;
  std::map<std::string, std::uint32_t> texts_;
  std::uint32_t codes_ = 0;
  std::uint32_t stacks_ = 0;
  std::uint32_t modules_ = 0;
  std::vector<RingRecord> definitions_;
  std::map<std::uint32_t, std::vector<RingRecord>> threads_;
};

std::string encode(const std::vector<RingRecord>& records, std::uint32_t thread, Source source,
                   std::uint64_t first_sequence, std::uint64_t trace_id = Builder::kTraceId,
                   std::uint8_t flags = 0);

// A ring file with one slot for each thread.
struct RingSlotContent {
  std::uint32_t thread = 0;
  std::uint64_t tail = 0;
  std::vector<RingRecord> records; // from sequence `tail` on
  format::SmallTotals small{};
};
std::string ring_file(const std::vector<RingSlotContent>& slots,
                      const std::map<format::Loss, std::uint64_t>& lost = {},
                      std::uint64_t trace_id = Builder::kTraceId);

} // namespace memtrace::tests
