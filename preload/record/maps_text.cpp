// Room: record. The background thread.
// Job: /proc/self/maps, mapping by mapping.
#include "record/maps_text.h"

#include <cstring>

#include "record/kernel_text.h"
#include "record/os.h"

namespace memtrace::record {
namespace {

constexpr std::size_t kBytes = 16 * 1024; // a line has at most a page

constinit char text[kBytes];

} // namespace

// "7f0c1c000000-7f0c1c021000 rw-p 00000000 00:00 0          /path with blanks"
bool parse_mapping(const char* line, std::size_t bytes, Mapping* out) {
  const char* const end = line + bytes;
  const auto* const dash = static_cast<const char*>(std::memchr(line, '-', bytes));
  const auto* at = static_cast<const char*>(std::memchr(line, ' ', bytes));
  if (dash == nullptr || at == nullptr || dash > at || end - at < 6) return false;
  out->start = hexadecimal_at(line);
  out->end = hexadecimal_at(dash + 1);
  out->readable = at[1] == 'r';
  out->writable = at[2] == 'w';
  out->executable = at[3] == 'x';
  out->shared = at[4] == 's';
  for (int field = 0; field < 4; ++field) { // permissions, offset, device, inode
    while (at < end && *at == ' ') ++at;
    while (at < end && *at != ' ') ++at;
  }
  while (at < end && *at == ' ') ++at;
  const auto left = static_cast<std::size_t>(end - at);
  const std::size_t kept = left < sizeof out->path - 1 ? left : sizeof out->path - 1;
  std::memcpy(out->path, at, kept);
  out->path[kept] = '\0';
  return out->end > out->start;
}

bool is_anonymous(const Mapping& one) {
  return one.path[0] == '\0' || std::strcmp(one.path, "[heap]") == 0 ||
         std::strncmp(one.path, "[anon:", 6) == 0;
}

MapsReader::MapsReader() : fd_(os::open_kernel("/proc/self/maps")) {}

MapsReader::~MapsReader() {
  if (fd_ >= 0) os::close(fd_);
}

bool MapsReader::refill() {
  std::memmove(text, text + at_, end_ - at_);
  end_ -= at_;
  at_ = 0;
  const long got = fd_ < 0 ? 0 : os::read_once(fd_, text + end_, kBytes - end_);
  if (got <= 0) return false;
  end_ += static_cast<std::size_t>(got);
  return true;
}

bool MapsReader::next(Mapping* out) {
  for (;;) {
    const char* const line = text + at_;
    const auto* const newline = static_cast<const char*>(std::memchr(line, '\n', end_ - at_));
    if (newline == nullptr) {
      if (!refill()) return false;
      continue;
    }
    at_ = static_cast<std::size_t>(newline + 1 - text);
    if (parse_mapping(line, static_cast<std::size_t>(newline - line), out)) return true;
  }
}

} // namespace memtrace::record
