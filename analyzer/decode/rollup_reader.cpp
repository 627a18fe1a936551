// Purpose: reads the rollup: the rows of steps whose events were dropped.
#include "analyzer/decode/rollup_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "analyzer/decode/read_error.h"
#include "analyzer/decode/segment_file.h"

namespace memtrace::trace {
namespace {

using format::PhaseRow;
using format::RollupHalf;
using format::RollupHeader;
using format::SiteRow;

constexpr std::uint64_t kMostBytes = 1 << 28; // of a half: the recorder's has some MiB
constexpr int kReadTries = 8;

bool sound(const RollupHeader& header, std::uint64_t trace_id, std::uint64_t file_bytes) {
  return std::memcmp(header.magic, format::kRollupMagic, sizeof header.magic) == 0 &&
         format::is_known(header.version) && header.trace_id == trace_id && header.active <= 1 &&
         header.half_bytes <= kMostBytes && format::kPage + 2 * header.half_bytes <= file_bytes;
}

// Returns the version of a rollup of this trace if it is newer than those that this memtrace knows. Else
// returns 0.
std::uint16_t newer_version(const File& file, std::uint64_t trace_id) {
  RollupHeader header{};
  if (file.read(0, &header, sizeof header) != sizeof header) return 0;
  const bool ours =
      std::memcmp(header.magic, format::kRollupMagic, format::kFamily) == 0 && header.trace_id == trace_id;
  return ours && header.version > format::kVersion ? header.version : std::uint16_t{0};
}

bool sound(const RollupHalf& half, std::uint64_t bytes) {
  const std::uint64_t rows = std::uint64_t{half.phase_capacity} * sizeof(PhaseRow) +
                             std::uint64_t{half.site_capacity} * sizeof(SiteRow);
  // A step is a count and never negative. So no step range overflows, and no end of a range does.
  return sizeof half + rows <= bytes && std::has_single_bit(half.phase_width) &&
         std::has_single_bit(half.site_width) && half.last_step <= ~std::uint64_t{0} >> 2;
}

bool same(const RollupHalf& a, const RollupHalf& b) {
  return a.phase_width == b.phase_width && a.site_width == b.site_width && a.first_step == b.first_step &&
         a.last_step == b.last_step && a.phase_capacity == b.phase_capacity &&
         a.site_capacity == b.site_capacity;
}

bool within(std::uint64_t bucket, std::uint64_t width, const RollupHalf& half) {
  // There is no lower bound: a phase that was open before may belong to an earlier step.
  return bucket == format::kNoStepBucket || bucket <= half.last_step / width;
}

bool used(const PhaseRow& row) {
  return row.steps != 0;
}
bool used(const SiteRow& row) {
  return row.count != 0;
}
bool sensible(const PhaseRow& row, const RollupHalf& half) {
  return within(row.bucket, half.phase_width, half);
}
bool sensible(const SiteRow& row, const RollupHalf& half) {
  return within(row.bucket, half.site_width, half) && row.kind < format::kKinds && row.min <= row.max;
}

// Takes the rows of a table that are in use. A large table is mostly empty, so it is read piece by piece.
// Returns false if the file ends early.
template <typename Row>
bool read_table(const File& file, std::uint64_t offset, std::uint32_t capacity, const RollupHalf& half,
                std::vector<Row>& out, std::uint64_t& refused) {
  constexpr std::uint32_t kPiece = 1024;
  std::vector<Row> piece(std::min(capacity, kPiece));
  for (std::uint32_t done = 0; done < capacity;) {
    const std::uint32_t rows = std::min(kPiece, capacity - done);
    const std::size_t bytes = rows * sizeof(Row);
    if (file.read(offset + std::uint64_t{done} * sizeof(Row), piece.data(), bytes) != bytes) return false;
    for (std::uint32_t i = 0; i < rows; ++i) {
      if (!used(piece[i])) continue;
      if (sensible(piece[i], half)) {
        out.push_back(piece[i]);
      } else {
        ++refused;
      }
    }
    done += rows;
  }
  return true;
}

// Returns nullopt if the file is invalid. Sets `again` if a half may have been replaced meanwhile.
std::optional<RollupRows> read_once(const File& file, std::uint64_t trace_id, bool& again) {
  again = false;
  RollupRows out;
  RollupHeader& header = out.header;
  if (file.read(0, &header, sizeof header) != sizeof header || !sound(header, trace_id, file.size()))
    return std::nullopt;
  const std::uint64_t at = format::kPage + header.active * header.half_bytes;
  RollupHalf& half = out.half;
  if (file.read(at, &half, sizeof half) != sizeof half || !sound(half, header.half_bytes)) {
    again = true;
    return std::nullopt;
  }
  const std::uint64_t phases = at + sizeof half;
  const std::uint64_t sites = phases + std::uint64_t{half.phase_capacity} * sizeof(PhaseRow);
  if (!read_table(file, phases, half.phase_capacity, half, out.phases, out.refused) ||
      !read_table(file, sites, half.site_capacity, half, out.sites, out.refused))
    return std::nullopt;
  RollupHeader header_now{};
  RollupHalf half_now{};
  again = file.read(0, &header_now, sizeof header_now) != sizeof header_now ||
          file.read(at, &half_now, sizeof half_now) != sizeof half_now || header_now.active != header.active ||
          !same(half, half_now);
  return out;
}

} // namespace

RollupFile read_rollup(const std::string& path, std::uint64_t trace_id) try {
  const File file(path, files::Origin::found);
  RollupFile out;
  out.bytes = file.size();
  out.newer = newer_version(file, trace_id);
  bool again = true;
  for (int i = 0; i < kReadTries && again; ++i) out.rollup = read_once(file, trace_id, again);
  return out;
} catch (const ReadError&) {
  return {}; // there is no rollup
}

} // namespace memtrace::trace
