// Purpose: the least saving for which a report names a remedy.
#pragma once

#include <cstdint>

namespace memtrace::report {

inline constexpr double kWorthwhile = 0.05; // part of the peak

constexpr bool worthwhile(std::int64_t saved, std::int64_t peak) {
  return peak > 0 && static_cast<double>(saved) >= kWorthwhile * static_cast<double>(peak);
}

} // namespace memtrace::report
