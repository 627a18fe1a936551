// Purpose: tells address space that a program reserved and never touched from memory that it uses.
#include "analyzer/attribute/reservations.h"

#include <algorithm>

#include "analyzer/files/read_budget.h"

namespace memtrace::replay {
namespace {

constexpr std::uint64_t kLeastReserved = 32 << 20; // bytes
constexpr std::uint64_t kTouchedPart = 16;

bool may_be_reserved(const Block& block) {
  return block.memory == 0 && block.kind == format::Kind::mmap_anon && block.counted && !block.locked &&
         !block.tensor && !block.sampled && block.given >= kLeastReserved;
}

} // namespace

bool is_reservation(const Block& block, std::uint64_t resident) {
  return may_be_reserved(block) && resident < block.given / kTouchedPart;
}

void Reservations::add(const Block& block, trace::Ordinal death, const Touched& touched) {
  if (!may_be_reserved(block)) return;
  const Touches* const touches = touched.of(block.address, block.birth_stamp);
  if (touches == nullptr) return;
  numbers_.emplace(std::pair{block.birth, block.address}, all_.size());
  all_.push_back({block, death, *touches});
}

std::uint64_t Reservations::untouched(trace::Ordinal at) const {
  files::Budget::of_command().looks(all_.size());
  std::uint64_t out = 0;
  for (const ReservedMapping& one : all_) {
    if (at < one.block.birth || at >= one.death) continue;
    const std::uint64_t resident = std::min(one.block.given, one.touches.resident(at));
    if (is_reservation(one.block, resident)) out += one.block.given - resident;
  }
  return out;
}

std::uint64_t Reservations::never_touched(const Block& block) const {
  if (!may_be_reserved(block)) return 0;
  const auto found = numbers_.find({block.birth, block.address});
  if (found == numbers_.end()) return 0;
  const ReservedMapping& one = all_[found->second];
  const std::uint64_t resident = std::min(block.given, one.touches.resident(one.death));
  return is_reservation(block, resident) ? block.given - resident : 0;
}

} // namespace memtrace::replay
