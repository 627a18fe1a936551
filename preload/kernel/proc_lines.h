// Purpose: reads a file of /proc line by line, without memory of its own beside a buffer.
// Runs: on the background thread.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include "preload/os/files.h"

namespace memtrace::record {

// A line has at most a page, so the buffer of `kBytes` holds at least one.
template <std::size_t kBytes>
class ProcLines {
 public:
  void open(const char* path) { // starts at the first line
    close();
    fd_ = os::open_kernel(path);
    open_ = fd_ >= 0;
    at_ = end_ = 0;
  }
  void close() {
    if (open_) os::close(fd_);
    open_ = false;
  }
  bool is_open() const { return open_; }
  // After a fork: the parent owns the descriptor.
  void forget() { open_ = false; }

  // Returns the next line without its newline, which follows it. Returns a view without data after the last
  // line. The view is valid until the next call.
  std::string_view next() {
    for (;;) {
      const char* const line = text_ + at_;
      const auto* const newline = static_cast<const char*>(std::memchr(line, '\n', end_ - at_));
      if (newline != nullptr) {
        at_ = static_cast<std::size_t>(newline + 1 - text_);
        return {line, static_cast<std::size_t>(newline - line)};
      }
      if (!refill()) return {};
    }
  }

 private:
  bool refill() {
    std::memmove(text_, text_ + at_, end_ - at_);
    end_ -= at_;
    at_ = 0;
    const long got = open_ ? os::read_once(fd_, text_ + end_, kBytes - end_) : 0;
    if (got <= 0) return false;
    end_ += static_cast<std::size_t>(got);
    return true;
  }

  bool open_ = false;
  long fd_ = 0;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  char text_[kBytes] = {};
};

} // namespace memtrace::record
