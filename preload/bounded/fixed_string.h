// Purpose: a string of bounded length, for paths and for the lines that users see.
// Runs: on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "preload/format/printable.h"

namespace memtrace::record {

// Drops the text that does not fit, and is always NUL-terminated. `cut()` tells whether text was dropped.
template <std::size_t Capacity>
class Line {
 public:
  Line& add(const char* text, std::size_t bytes) {
    const std::size_t room = Capacity - 1 - size_;
    if (bytes > room) cut_ = true;
    const std::size_t n = bytes < room ? bytes : room;
    std::memcpy(text_ + size_, text, n);
    size_ += n;
    text_[size_] = '\0';
    return *this;
  }
  Line& add(const char* text) { return add(text, std::strlen(text)); }
  Line& add(std::uint64_t value, unsigned base = 10) {
    char digits[24];
    std::size_t at = sizeof digits;
    do { // 20 digits at most; GCC does not see that with -fsanitize=thread
      digits[--at] = "0123456789abcdef"[value % base];
      value /= base;
    } while (value != 0 && at != 0);
    return add(digits + at, sizeof digits - at);
  }
  // Adds text for users: each byte that would control a terminal, or that is not UTF-8, becomes text such as
  // "\x1b".
  Line& shown(const char* text) {
    for (std::string_view rest = text; !rest.empty();) {
      const format::Character one = format::first_character(rest);
      const std::size_t bytes = one.bytes == 0 ? 1 : one.bytes;
      const bool hidden = one.bytes == 0 || format::steers(one.code);
      if (!hidden) add(rest.data(), bytes);
      for (std::size_t i = 0; hidden && i < bytes; ++i) {
        const auto byte = static_cast<std::uint8_t>(rest[i]);
        add("\\x").add(byte >> 4, 16).add(byte & 15, 16);
      }
      rest.remove_prefix(bytes);
    }
    return *this;
  }
  // Adds a number with at least `width` digits.
  Line& padded(std::uint64_t value, std::size_t width) {
    std::uint64_t limit = 10;
    for (std::size_t i = 1; i < width; ++i, limit *= 10)
      if (value < limit) add("0");
    return add(value);
  }
  void clear() {
    size_ = 0;
    cut_ = false;
    text_[0] = '\0';
  }
  const char* text() const { return text_; }
  std::size_t size() const { return size_; }
  bool cut() const { return cut_; }

 private:
  std::size_t size_ = 0; // before the text, so that a short text touches one page
  bool cut_ = false;
  char text_[Capacity] = {};
};

using Path = Line<4096>;

} // namespace memtrace::record
