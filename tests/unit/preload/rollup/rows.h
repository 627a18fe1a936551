// Purpose: the rows of a STEM.coarse, read by the text of the format.
#pragma once

#include <cstring>
#include <vector>

#include "preload/format/rollup_layout.h"

namespace memtrace::tests {

inline const format::RollupHalf* half_in(const void* memory) {
  const auto* const header = static_cast<const format::RollupHeader*>(memory);
  const char* const halves = static_cast<const char*>(memory) + format::kPage;
  return reinterpret_cast<const format::RollupHalf*>(halves + header->active * header->half_bytes);
}

inline std::vector<format::PhaseRow> phases_in(const void* memory) {
  const format::RollupHalf* const half = half_in(memory);
  const auto* const rows = reinterpret_cast<const format::PhaseRow*>(half + 1);
  std::vector<format::PhaseRow> out;
  for (std::uint32_t i = 0; i < half->phase_capacity; ++i)
    if (rows[i].steps != 0) out.push_back(rows[i]);
  return out;
}

inline std::vector<format::SiteRow> sites_in(const void* memory) {
  const format::RollupHalf* const half = half_in(memory);
  const auto* const phases = reinterpret_cast<const format::PhaseRow*>(half + 1);
  const auto* const rows = reinterpret_cast<const format::SiteRow*>(phases + half->phase_capacity);
  std::vector<format::SiteRow> out;
  for (std::uint32_t i = 0; i < half->site_capacity; ++i)
    if (rows[i].count != 0) out.push_back(rows[i]);
  return out;
}

} // namespace memtrace::tests
