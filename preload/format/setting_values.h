// Purpose: the values that the MEMTRACE_* variables accept. The recorder and `memtrace run` check them alike.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::format {

// In the order of record::Stacks and record::PhaseSource.
inline constexpr const char* kStackNames[] = {"none", "python", "native", "both"};
inline constexpr const char* kPhaseSourceNames[] = {"auto", "marks", "off"};
inline constexpr const char* kCuptiNames[] = {"off", "auto", "on"};
// In the order of record::Sharing.
inline constexpr const char* kSharingNames[] = {"off", "auto", "on"};

// Reads "30", the seconds between two copies of a trace: MEMTRACE_SHARED may have a number instead of a name.
// Returns 0 if the text is not a number from 1 to 3600.
constexpr std::uint32_t parse_seconds(const char* text) {
  std::uint32_t value = 0;
  const char* at = text;
  for (; *at >= '0' && *at <= '9' && value <= 3600; ++at)
    value = value * 10 + static_cast<std::uint32_t>(*at - '0');
  return *at == '\0' && value <= 3600 ? value : 0;
}

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

// One axis of a job's grid of ranks. The name is not terminated.
struct GridAxis {
  const char* name = nullptr;
  std::size_t name_bytes = 0;
  std::uint32_t number = 0; // the size of the axis, or a coordinate on it
};
inline constexpr std::size_t kMostAxes = 8;
inline constexpr std::uint64_t kMostRanks = std::uint64_t{1} << 24;

constexpr bool is_of_axis_name(char c, bool first) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  return letter || (!first && c >= '0' && c <= '9');
}

// True if an axis before number `count` has the same name.
constexpr bool is_named_twice(const GridAxis (&axes)[kMostAxes], std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t same = 0;
    while (same < axes[i].name_bytes && same < axes[count].name_bytes &&
           axes[i].name[same] == axes[count].name[same])
      ++same;
    if (same == axes[i].name_bytes && same == axes[count].name_bytes) return true;
  }
  return false;
}

// Reads "pp=2,dp=4,tp=8". Returns the number of axes, or 0 if the text has another form, names an axis twice,
// or has a number below `least`.
constexpr std::size_t parse_axes(const char* text, std::uint32_t least, GridAxis (&axes)[kMostAxes]) {
  const char* at = text;
  for (std::size_t count = 0; count < kMostAxes;) {
    GridAxis& axis = axes[count];
    axis = {at, 0, 0};
    for (; is_of_axis_name(*at, at == axis.name); ++at) ++axis.name_bytes;
    if (axis.name_bytes == 0 || axis.name_bytes > 32 || *at++ != '=') return 0;
    const char* const digits = at;
    for (; *at >= '0' && *at <= '9' && axis.number < kMostRanks; ++at)
      axis.number = axis.number * 10 + static_cast<std::uint32_t>(*at - '0');
    if (at == digits || axis.number > kMostRanks || axis.number < least || is_named_twice(axes, count))
      return 0;
    ++count;
    if (*at == '\0') return count;
    if (*at++ != ',') return 0;
  }
  return 0;
}

// Reads the sizes of a grid, slowest axis first: MEMTRACE_RANKS. Returns the number of ranks, or 0 if the text
// is not a grid.
constexpr std::uint64_t parse_grid(const char* text) {
  GridAxis axes[kMostAxes];
  const std::size_t count = parse_axes(text, 1, axes);
  std::uint64_t ranks = count == 0 ? 0 : 1;
  for (std::size_t i = 0; i < count; ++i) {
    ranks *= axes[i].number;
    if (ranks > kMostRanks) return 0;
  }
  return ranks;
}

} // namespace memtrace::format
