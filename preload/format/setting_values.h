// Purpose: the values that the MEMTRACE_* variables accept. The recorder and `memtrace run` check them alike.
#pragma once

#include <cstdint>

namespace memtrace::format {

// In the order of record::Stacks and record::PhaseSource.
inline constexpr const char* kStackNames[] = {"none", "python", "native", "both"};
inline constexpr const char* kPhaseSourceNames[] = {"auto", "marks", "off"};
inline constexpr const char* kCuptiNames[] = {"off", "auto", "on"};

// MEMTRACE_MIN_PEAK
inline constexpr std::uint64_t kDefaultMinPeak = std::uint64_t{32} << 20;

// Reads "4096", "512K", "32M" or "4G". Returns false if the text has another form or the size needs more than
// 64 bits.
constexpr bool parse_size(const char* text, std::uint64_t* bytes) {
  std::uint64_t value = 0;
  const char* at = text;
  for (; *at >= '0' && *at <= '9'; ++at) {
    if (value > (~std::uint64_t{0} - 9) / 10) return false;
    value = value * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  if (at == text) return false;
  unsigned shift = 0;
  if (*at == 'K' || *at == 'k') shift = 10;
  if (*at == 'M' || *at == 'm') shift = 20;
  if (*at == 'G' || *at == 'g') shift = 30;
  if (shift != 0) ++at;
  if (*at != '\0' || value > ~std::uint64_t{0} >> shift) return false;
  *bytes = value << shift;
  return true;
}

} // namespace memtrace::format
