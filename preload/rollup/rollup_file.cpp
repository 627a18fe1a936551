// Purpose: the rows of STEM.coarse, in the two halves of its mapping; buckets (step ranges) double as the run
// grows.
// Runs: in the drain and, when its ring is full, on the program's thread.
#include "preload/rollup/rollup_file.h"

namespace memtrace::rollup {

using format::Extremes;
using format::kNoStepBucket;
using format::PhaseRow;
using format::RollupHalf;
using format::SiteRow;

namespace {

// If there are only so many buckets, they are not merged to make room. It is better to lose some rows than to
// have all steps in one bucket.
constexpr std::uint64_t kFewest = 4;

PhaseRow* phases_of(RollupHalf* half) {
  return reinterpret_cast<PhaseRow*>(half + 1);
}
SiteRow* sites_of(RollupHalf* half) {
  return reinterpret_cast<SiteRow*>(phases_of(half) + half->phase_capacity);
}

bool same(const PhaseRow& a, const PhaseRow& b) {
  return a.bucket == b.bucket && a.path == b.path && a.memory == b.memory;
}
bool same(const SiteRow& a, const SiteRow& b) {
  return a.bucket == b.bucket && a.path == b.path && a.stack == b.stack && a.kind == b.kind &&
         a.memory == b.memory && a.flags == b.flags;
}
std::uint64_t hash(const PhaseRow& row) {
  return mix(row.bucket, std::uint64_t{row.path} << 8 | row.memory);
}
std::uint64_t hash(const SiteRow& row) {
  return mix(mix(row.bucket, std::uint64_t{row.path} << 32 | row.stack),
             std::uint64_t{row.kind} << 24 | std::uint64_t{row.flags} << 8 | row.memory);
}
bool empty(const PhaseRow& row) {
  return row.steps == 0;
}
bool empty(const SiteRow& row) {
  return row.count == 0;
}

void merge(PhaseRow& into, const PhaseRow& row) {
  into.skipped = into.skipped | row.skipped;
  for (std::size_t i = 0; i < format::kFigures; ++i) {
    Extremes& figure = into.figures[i];
    if (row.figures[i].max > figure.max) figure.max = row.figures[i].max;
    if (row.figures[i].min < figure.min) figure.min = row.figures[i].min;
  }
  __atomic_store_n(&into.steps, into.steps + row.steps, __ATOMIC_RELEASE);
}
void merge(SiteRow& into, const SiteRow& row) {
  if (row.max > into.max) into.max = row.max, into.largest_in = row.largest_in;
  if (row.min < into.min) into.min = row.min;
  into.sum += row.sum;
  __atomic_store_n(&into.count, into.count + row.count, __ATOMIC_RELEASE);
}
// Copies a row. The field that makes the row count is stored last, because the analyzer also reads the file of
// a process that was killed meanwhile.
void fill(PhaseRow& place, const PhaseRow& row) {
  place.bucket = row.bucket;
  place.path = row.path;
  place.memory = row.memory;
  place.skipped = row.skipped;
  std::memcpy(place.figures, row.figures, sizeof place.figures);
  __atomic_store_n(&place.steps, row.steps, __ATOMIC_RELEASE);
}
void fill(SiteRow& place, const SiteRow& row) {
  SiteRow all = row;
  all.count = 0;
  place = all;
  __atomic_store_n(&place.count, row.count, __ATOMIC_RELEASE);
}

// Adds `row` to the row of its key. Returns false if the key has no row and `most` rows are used.
template <class Row>
bool put(Row* rows, std::uint32_t capacity, std::uint32_t* used, std::uint32_t most, const Row& row) {
  if (capacity == 0) return false;
  auto at = static_cast<std::uint32_t>(hash(row) % capacity);
  while (!empty(rows[at]) && !same(rows[at], row)) at = at + 1 == capacity ? 0 : at + 1;
  if (!empty(rows[at])) {
    merge(rows[at], row);
    return true;
  }
  if (*used >= most) return false;
  fill(rows[at], row);
  ++*used;
  return true;
}

std::uint64_t in_bucket(std::uint64_t step, std::uint64_t width) {
  return step == kNoStepBucket ? step : step / width;
}

// Returns the number of rows that may be used. Some rows stay free, because a search ends at an empty row.
std::uint32_t most_phases(const RollupHalf& half) {
  return half.phase_capacity - half.phase_capacity / 8 - 1;
}
std::uint32_t most_sites(const RollupHalf& half) {
  return half.site_capacity - half.site_capacity / 8 - 1;
}
// Rows without a stack have a little room of their own, because they take the blocks that found no room
// elsewhere.
std::uint32_t most_rests(const RollupHalf& half) {
  return half.site_capacity - half.site_capacity / 32 - 1;
}

} // namespace

void FileRows::attach(void* memory, std::size_t bytes, std::uint64_t trace_id, format::Stamp from) {
  auto* const header = static_cast<format::RollupHeader*>(memory);
  std::memcpy(header->magic, format::kRollupMagic, sizeof header->magic);
  header->version = format::kVersion;
  header->trace_id = trace_id;
  header->half_bytes = (bytes - format::kPage) / 2 / format::kPage * format::kPage;
  header->folded_from = from;
  header_ = header;
  phases_ = sites_ = 0;
  lowest_ = ~std::uint64_t{0};
  RollupHalf* const half = half_at(0);
  half->phase_width = half->site_width = 1;
  half->first_step = ~std::uint64_t{0};
  const std::uint64_t room = header->half_bytes - sizeof *half;
  half->phase_capacity = static_cast<std::uint32_t>(room / 2 / sizeof(PhaseRow));
  half->site_capacity = static_cast<std::uint32_t>(room / 2 / sizeof(SiteRow));
}

RollupHalf* FileRows::half_at(std::uint32_t i) const {
  return reinterpret_cast<RollupHalf*>(reinterpret_cast<char*>(header_) + format::kPage +
                                       i * header_->half_bytes);
}
const RollupHalf& FileRows::half() const {
  return *half_at(header_->active);
}

// Returns the number of buckets if each bucket has `width` steps.
std::uint64_t FileRows::buckets(std::uint64_t width) const {
  const std::uint64_t last = half().last_step;
  return lowest_ > last ? 0 : last / width - lowest_ / width + 1;
}

// Makes room for the bucket of `step`. `whole`: the step is over; else it is the first step of a site's bucket.
void FileRows::saw(std::uint64_t step, bool whole) {
  RollupHalf* const half = half_at(header_->active);
  if (step == kNoStepBucket) return;
  if (lowest_ > step) lowest_ = step;
  if (half->first_step > step && whole) half->first_step = step;
  if (half->last_step < step) half->last_step = step;
  std::uint64_t phase_width = half->phase_width, site_width = half->site_width;
  while (buckets(phase_width) > kBuckets) phase_width *= 2;
  while (buckets(site_width) > kBuckets) site_width *= 2;
  if (phase_width != half->phase_width || site_width != half->site_width) widen(phase_width, site_width);
}

void FileRows::widen(std::uint64_t phase_width, std::uint64_t site_width) {
  RollupHalf* const from = half_at(header_->active);
  RollupHalf* const to = half_at(1 - header_->active);
  std::memset(static_cast<void*>(to), 0, header_->half_bytes);
  *to = *from;
  to->phase_width = phase_width;
  to->site_width = site_width;
  phases_ = sites_ = 0;
  for (std::uint32_t i = 0; i < from->phase_capacity; ++i) {
    PhaseRow row = phases_of(from)[i];
    if (empty(row)) continue;
    if (row.bucket != kNoStepBucket) row.bucket /= phase_width / from->phase_width;
    put(phases_of(to), to->phase_capacity, &phases_, to->phase_capacity - 1, row);
  }
  for (std::uint32_t i = 0; i < from->site_capacity; ++i) {
    SiteRow row = sites_of(from)[i];
    if (empty(row)) continue;
    if (row.bucket != kNoStepBucket) row.bucket /= site_width / from->site_width;
    put(sites_of(to), to->site_capacity, &sites_, to->site_capacity - 1, row);
  }
  __atomic_store_n(&header_->active, 1 - header_->active, __ATOMIC_RELEASE);
}

// Each doubles the bucket width of one table. Returns false if too few buckets are left to merge.
bool FileRows::fold_phases() {
  const RollupHalf& now = half();
  if (buckets(now.phase_width) <= kFewest) return false;
  widen(now.phase_width * 2, now.site_width);
  return true;
}
bool FileRows::fold_sites() {
  const RollupHalf& now = half();
  if (buckets(now.site_width) <= kFewest) return false;
  widen(now.phase_width, now.site_width * 2);
  return true;
}

void FileRows::add(PhaseRow&& row) {
  const std::uint64_t step = row.bucket;
  saw(step, true);
  do {
    RollupHalf* const half = half_at(header_->active);
    row.bucket = in_bucket(step, half->phase_width);
    if (put(phases_of(half), half->phase_capacity, &phases_, most_phases(*half), row)) return;
  } while (fold_phases());
}

void FileRows::add(const SiteRow& row) {
  saw(row.bucket, false);
  SiteRow placed = row;
  do {
    RollupHalf* const half = half_at(header_->active);
    placed.bucket = in_bucket(row.bucket, half->site_width);
    if (put(sites_of(half), half->site_capacity, &sites_, most_sites(*half), placed)) return;
  } while (fold_sites());
  RollupHalf* const half = half_at(header_->active);
  placed.stack = 0;
  if (put(sites_of(half), half->site_capacity, &sites_, most_rests(*half), placed)) return;
  placed.path = 0;
  put(sites_of(half), half->site_capacity, &sites_, half->site_capacity - 1, placed);
}

} // namespace memtrace::rollup
