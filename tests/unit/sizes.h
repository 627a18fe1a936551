// Purpose: units that the tests count in.
#pragma once

#include <cstdint>

namespace memtrace::tests {

inline constexpr std::uint64_t kMiB = 1 << 20;
inline constexpr std::int64_t kSignedMiB = 1 << 20;
inline constexpr std::uint64_t kGiB = 1 << 30;
inline constexpr std::uint64_t kSecond = 1'000'000'000; // in ns

} // namespace memtrace::tests
