// Purpose: takes the parts of a fuzz input from its front, and writes them back in the same order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace memtrace::tests {

// What is missing at the end of the input reads as zero.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return rest_.empty(); }
  std::string_view take(std::size_t bytes) {
    const std::string_view part = rest_.substr(0, bytes);
    rest_.remove_prefix(part.size());
    return part;
  }
  template <class Shape>
  Shape next() {
    Shape out{};
    const std::string_view part = take(sizeof out);
    std::memcpy(&out, part.data(), part.size());
    return out;
  }
  std::string_view rest() { return take(rest_.size()); }

 private:
  std::string_view rest_;
};

template <class Shape>
void append(std::string& to, const Shape& shape) {
  to.append(reinterpret_cast<const char*>(&shape), sizeof shape);
}

// Ends the process, so that libFuzzer keeps the input: a round trip or an invariant does not hold.
[[noreturn]] void broken(const char* what);
inline void expect(bool holds, const char* what) {
  if (!holds) broken(what);
}

} // namespace memtrace::tests
