// Purpose: a process of its own for a test, because the recorder is made of globals that nothing tears down.
#pragma once

#include <functional>
#include <string>

#include "preload/format/file_headers.h"

namespace memtrace::tests {

// A directory of its own, removed with everything in it.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Runs `body` in a forked child with a fresh recorder. What fails there fails the test; so does a child that
// crashes or takes longer than a minute.
void in_child(const std::function<void()>& body);

inline constexpr std::uint64_t kTraceId = 0x0123456789ABCDEF;

// Trace and ring file in `scratch`, t.memtrace and t.rings; the recorder records and has no drain.
void open_files(const Scratch& scratch, std::uint64_t max_bytes = std::uint64_t{256} << 20);
// The recorder buffers in its startup log, and nothing that the test does ends that.
void become_cold();
void become_hot(const Scratch& scratch, std::uint64_t max_bytes = std::uint64_t{256} << 20);

std::uint64_t lost_for(format::Loss reason);
std::uint64_t lost_in_all();

format::RingRecord birth_of(std::uint64_t address, std::uint64_t given, format::Stamp stamp);

} // namespace memtrace::tests
