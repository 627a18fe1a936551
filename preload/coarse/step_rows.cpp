// Room: coarse. Runs in the drain and, when its ring is full, on the victim's thread.
// Job: the rows of steps that are not over, in private memory, so that a bucket gets whole steps.
#include "coarse/step_rows.h"

namespace memtrace::coarse {

using format::Figure;
using format::kNoStepBucket;

namespace {

std::uint64_t number_of(StepId step) {
  return step == kNoStep ? kNoStepBucket : step - std::uint64_t{1};
}

// Births of a bucket are one row here already.
std::uint64_t first_of_bucket(std::uint64_t number, const FileRows& file) {
  if (number == kNoStepBucket || !file.attached()) return number;
  return number & ~(file.half().site_width - 1);
}

std::uint32_t text_of(PathId path) {
  return static_cast<std::uint32_t>(Paths::text(path));
}

} // namespace

OpenRow* StepRows::row(const Host& host, const Place& place, std::uint8_t memory) {
  OpenRow key;
  key.place = place;
  key.memory = memory;
  if (OpenRow* const found = rows_.find(key); found != nullptr) return found;
  key = OpenRow{};
  key.place = place;
  key.memory = memory;
  return rows_.find_or_add(host, key);
}

bool StepRows::is_open(const Place& place) {
  OpenRow key;
  key.place = place;
  key.memory = 0;
  const OpenRow* const host_row = rows_.find(key);
  return host_row != nullptr && host_row->open != 0;
}

void StepRows::flow(const Host& host, const Place& place, std::uint8_t memory, std::uint64_t allocated,
                    std::uint64_t freed, std::uint64_t allocations) {
  OpenRow* const found = row(host, place, memory);
  if (found == nullptr) return;
  (*found)[Figure::allocated] += static_cast<std::int64_t>(allocated);
  (*found)[Figure::freed] += static_cast<std::int64_t>(freed);
  (*found)[Figure::allocations] += static_cast<std::int64_t>(allocations);
}

void StepRows::born(const Host& host, const Block& block, FileRows& file) {
  const std::uint64_t bytes = block.is(Block::kTensor) ? block.tensor_bytes() : block.given;
  Site key{};
  key.row.bucket = first_of_bucket(number_of(block.step), file);
  key.row.path = text_of(block.path);
  key.row.stack = block.stack;
  key.row.kind = block.kind;
  key.row.memory = block.memory;
  key.row.flags = static_cast<std::uint16_t>((block.is(Block::kTensor) ? format::kTensor : 0) |
                                             (block.is(Block::kSampled) ? format::kSampled : 0));
  key.row.min = ~std::uint64_t{0};
  Site* site = sites_.find_or_add(host, key);
  if (site == nullptr) { // they only ever add up: nothing is lost by doing that early
    publish_sites(file);
    site = sites_.find_or_add(host, key);
  }
  if (site == nullptr) return; // no memory at all
  ++site->row.count;
  site->row.sum += bytes;
  if (bytes < site->row.min) site->row.min = bytes;
  if (bytes > site->row.max) site->row.max = bytes;
}

void StepRows::put(const OpenRow& row, FileRows& file) {
  format::PhaseRow out{};
  out.bucket = number_of(row.place.step);
  out.steps = 1;
  out.path = text_of(row.place.path);
  out.memory = row.memory;
  out.skipped = row.skipped;
  for (std::size_t i = 0; i < format::kFigures; ++i) out.figures[i] = {row.figure[i], row.figure[i]};
  file.add(out);
}

void StepRows::publish_sites(FileRows& file) {
  if (file.attached())
    for (std::uint32_t i = 0; i < sites_.size(); ++i) file.add(sites_[i].row);
  sites_.keep_if([](const Site&) { return false; });
}

void StepRows::publish(StepId now, FileRows& file) {
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    const Place place = rows_[i].place;
    rows_[i].stays = place.step == now || is_open(place);
  }
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
    if (rows_[i].place.step > most) rows_[i].place.step = most;
  rows_.keep_if([](const OpenRow&) { return true; });
  for (std::uint32_t i = 0; i < sites_.size(); ++i) {
    std::uint64_t& bucket = sites_[i].row.bucket;
    if (bucket != kNoStepBucket && bucket + 1 > most) bucket = number_of(most);
  }
  sites_.keep_if([](const Site&) { return true; });
}

} // namespace memtrace::coarse
