// Purpose: the files of a long run beside its trace file: a snapshot, rows of steps whose events are gone.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "builder.h"
#include "preload/format/rollup_layout.h"

namespace memtrace::tests {

inline RingRecord record_of(EventType type, std::uint8_t kind, std::uint16_t flags,
                            const std::vector<std::uint64_t>& words, std::uint64_t stamp = Builder::kStart) {
  RingRecord record{};
  record.type = static_cast<std::uint8_t>(type);
  record.kind = kind;
  record.flags = flags;
  record.stamp = stamp;
  std::copy(words.begin(), words.end(), record.payload.word);
  return record;
}

inline std::string snapshot(const std::vector<RingRecord>& records) {
  return encode(records, 0, Source::snapshot, 0);
}

// The state in the middle of a file. `flags`: kWhole on the last segment.
inline std::string keyframe(const std::vector<RingRecord>& records, std::uint8_t flags = format::kWhole) {
  return encode(records, 0, Source::keyframe, 0, Builder::kTraceId, flags);
}

// The end of a stretch: the highest levels of the host in it.
inline std::string highest(std::uint64_t live, std::uint64_t tensor) {
  return encode({record_of(EventType::level, 0, 0, {live, tensor})}, 0, Source::keyframe, 0);
}

// STEM.coarse with everything in the half `active`.
inline std::string rollup_file(const format::RollupHalf& half, const std::vector<format::PhaseRow>& phases,
                               const std::vector<format::SiteRow>& sites, std::uint32_t active = 0,
                               std::uint64_t coarsened = 0, std::uint64_t own = 0) {
  format::RollupHeader header{};
  std::memcpy(header.magic, format::kRollupMagic, sizeof header.magic);
  header.version = format::kVersion;
  header.active = active;
  header.trace_id = Builder::kTraceId;
  header.coarsened = coarsened;
  header.own_bytes = own;
  format::RollupHalf filled = half;
  filled.phase_capacity = static_cast<std::uint32_t>(phases.size());
  filled.site_capacity = static_cast<std::uint32_t>(sites.size());
  std::string content(reinterpret_cast<const char*>(&filled), sizeof filled);
  for (const auto& row : phases) content.append(reinterpret_cast<const char*>(&row), sizeof row);
  for (const auto& row : sites) content.append(reinterpret_cast<const char*>(&row), sizeof row);
  content.resize((content.size() + format::kPage - 1) / format::kPage * format::kPage);
  header.half_bytes = content.size();
  std::string out(reinterpret_cast<const char*>(&header), sizeof header);
  out.resize(format::kPage + 2 * content.size());
  out.replace(format::kPage + active * content.size(), content.size(), content);
  return out;
}

} // namespace memtrace::tests
