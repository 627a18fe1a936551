// Purpose: sums of bytes modulo 2^64. A damaged trace may hold any figure, and a signed overflow is undefined.
#pragma once

#include <cstdint>

namespace memtrace::replay {

constexpr std::int64_t wrapping_add(std::int64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + b);
}
constexpr std::int64_t wrapping_sub(std::int64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - b);
}
constexpr std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return wrapping_add(a, static_cast<std::uint64_t>(b));
}
constexpr std::int64_t wrapping_sub(std::int64_t a, std::int64_t b) {
  return wrapping_sub(a, static_cast<std::uint64_t>(b));
}

} // namespace memtrace::replay
