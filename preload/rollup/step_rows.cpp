// Purpose: the rows of steps that are not over, in private memory, so that a bucket gets only whole steps.
// Runs: in the drain and, when its ring is full, on the program's thread.
#include "preload/rollup/step_rows.h"

namespace memtrace::rollup {

using format::kNoStepBucket;

namespace {

std::uint64_t number_of(StepId step) {
  return step == kNoStep ? kNoStepBucket : step - std::uint64_t{1};
}

// Returns the first step of the bucket of `number`: births of a bucket share one row here already.
std::uint64_t first_of_bucket(std::uint64_t number, const FileRows& file) {
  if (number == kNoStepBucket || !file.attached()) return number;
  return number & ~(file.half().site_width - 1);
}

std::uint32_t text_of(PathIndex path) {
  return static_cast<std::uint32_t>(PhasePaths::text(path));
}

format::PhaseRow row_of_file(const OpenRow& row) {
  format::PhaseRow out; // not zeroed first: each member is set
  out.bucket = number_of(row.step());
  out.steps = 1;
  out.reserved = 0;
  out.path = text_of(row.path());
  out.memory = row.memory();
  out.skipped = row.skipped;
  for (std::size_t i = 0; i < format::kFigures; ++i) out.figures[i] = {row.figure[i], row.figure[i]};
  return out;
}

} // namespace

OpenRow* StepRows::other_row(const Host& host, std::uint64_t key) {
  OpenRow wanted;
  wanted.key = key;
  if (OpenRow* const found = rows_.find(wanted); found != nullptr) return found;
  wanted = OpenRow{};
  wanted.key = key;
  return rows_.add(host, wanted);
}

// True if a phase with the path and step of the row is open. The row of the host has that count.
bool StepRows::is_open(std::uint64_t key) {
  OpenRow wanted;
  wanted.key = key & ~std::uint64_t{0xFF};
  const OpenRow* const found = rows_.find(wanted);
  return found != nullptr && found->open != 0;
}

void StepRows::born(const Host& host, const LedgerBlock& block, FileRows& file) {
  const std::uint64_t bytes = block.is(LedgerBlock::kTensor) ? block.tensor_bytes() : block.given;
  SiteCells key{};
  key.bucket = first_of_bucket(number_of(block.step), file);
  key.where = std::uint64_t{block.stack} | std::uint64_t{block.path} << 32;
  key.what = std::uint64_t{block.kind} | std::uint64_t{block.memory} << 8 |
             static_cast<std::uint64_t>((block.is(LedgerBlock::kTensor) ? format::kTensor : 0) |
                                        (block.is(LedgerBlock::kSampled) ? format::kSampled : 0))
                 << 16;
  key.min = ~std::uint64_t{0};
  SiteCells* site = sites_.last();
  if (site == nullptr || !site->same(key)) site = sites_.find_or_add(host, key);
  if (site == nullptr) { // site rows are sums: writing them early loses nothing
    publish_sites(file);
    site = sites_.find_or_add(host, key);
  }
  if (site == nullptr) return; // no memory at all
  ++site->count;
  site->sum += bytes;
  if (bytes < site->min) site->min = bytes;
  if (bytes > site->max) site->max = bytes, site->largest_in = block.step;
}

void StepRows::put(const OpenRow& row, FileRows& file) {
  file.add(row_of_file(row));
}

void StepRows::put(const SiteCells& site, FileRows& file) {
  format::SiteRow out{};
  out.bucket = site.bucket;
  out.path = text_of(static_cast<PathIndex>(site.where >> 32));
  out.stack = format::low(site.where);
  out.kind = static_cast<std::uint8_t>(site.what);
  out.memory = static_cast<std::uint8_t>(site.what >> 8);
  out.flags = static_cast<std::uint16_t>(site.what >> 16);
  out.count = site.count;
  out.sum = site.sum;
  out.min = site.min;
  out.max = site.max;
  out.largest_in = format::low(site.largest_in);
  file.add(out);
}

void StepRows::publish_sites(FileRows& file) {
  if (file.attached())
    for (std::uint32_t i = 0; i < sites_.size(); ++i) put(sites_[i], file);
  sites_.keep_if([](const SiteCells&) { return false; });
}

void StepRows::publish(StepId now, FileRows& file) {
  for (std::uint32_t i = 0; i < rows_.size(); ++i)
    rows_[i].stays = rows_[i].step() == now || is_open(rows_[i].key);
  rows_.keep_if([&](const OpenRow& row) {
    if (!row.stays && file.attached()) put(row, file);
    return row.stays;
  });
  const std::uint64_t bucket = first_of_bucket(number_of(now), file);
  if (bucket != bucket_) publish_sites(file);
  bucket_ = bucket;
}

void StepRows::publish_all(FileRows& file) {
  if (!file.attached()) return;
  for (std::uint32_t i = 0; i < rows_.size(); ++i) put(rows_[i], file);
  rows_.keep_if([](const OpenRow&) { return false; });
  publish_sites(file);
}

void StepRows::limit(StepId most) {
  for (std::uint32_t i = 0; i < rows_.size(); ++i)
    if (OpenRow& row = rows_[i]; row.step() > most) row.key = OpenRow::key_of({row.path(), most}, row.memory());
  rows_.index_again();
  for (std::uint32_t i = 0; i < sites_.size(); ++i) {
    std::uint64_t& bucket = sites_[i].bucket;
    if (bucket != kNoStepBucket && bucket + 1 > most) bucket = number_of(most);
  }
  sites_.index_again();
}

} // namespace memtrace::rollup
