// Purpose: a text of bounded length, for notes and for the doctor.
// Runs: outside callbacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memtrace::cupti {

class BoundedText {
 public:
  BoundedText& add(const char* text) {
    while (*text != '\0' && size_ + 1 < sizeof text_) text_[size_++] = *text++;
    text_[size_] = '\0';
    return *this;
  }
  BoundedText& add(std::uint64_t value) {
    char digits[24];
    std::size_t at = sizeof digits;
    digits[--at] = '\0';
    do {
      digits[--at] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    return add(digits + at);
  }
  const char* text() const { return text_; }
  std::size_t size() const { return size_; }

 private:
  char text_[512] = {};
  std::size_t size_ = 0;
};

} // namespace memtrace::cupti
