// Purpose: reads how much of one mapping is in memory, from /proc/self/smaps.
// Runs: on the background thread.
#include "preload/kernel/smaps.h"

#include <cstring>

#include "preload/kernel/proc_file.h"
#include "preload/os/files.h"

namespace memtrace::record {
namespace {

// True for a line such as "7f0c1c000000-7f0c1c021000 rw-p ...". The lines of figures begin with a capital
// letter.
bool is_mapping(const char* line) {
  return (*line >= '0' && *line <= '9') || (*line >= 'a' && *line <= 'f');
}

} // namespace

void SmapsReader::open() {
  close();
  fd_ = os::open_kernel("/proc/self/smaps");
  open_ = fd_ >= 0;
  at_ = end_ = 0;
}

void SmapsReader::close() {
  if (open_) os::close(fd_);
  open_ = false;
}

// Returns the next line, with NUL instead of its newline, or null after the last line.
const char* SmapsReader::next_line() {
  for (;;) {
    char* const line = text_ + at_;
    auto* const newline = static_cast<char*>(std::memchr(line, '\n', end_ - at_));
    if (newline != nullptr) {
      *newline = '\0';
      at_ = static_cast<std::size_t>(newline + 1 - text_);
      return line;
    }
    std::memmove(text_, line, end_ - at_);
    end_ -= at_;
    at_ = 0;
    const long got = open_ ? os::read_once(fd_, text_ + end_, kBytes - end_) : 0;
    if (got <= 0) return nullptr;
    end_ += static_cast<std::size_t>(got);
  }
}

std::uint64_t SmapsReader::resident_of(std::uint64_t start) {
  bool found = false;
  for (const char* line; (line = next_line()) != nullptr;) {
    if (is_mapping(line)) {
      if (hexadecimal_at(line) > start) return 0; // the mapping is gone
      found = hexadecimal_at(line) == start;
    } else if (found && std::strncmp(line, "Rss:", 4) == 0) {
      return number_at(line + 4) * 1024;
    }
  }
  return 0;
}

} // namespace memtrace::record
