// Purpose: the blocks that were born and that ended, from which the next addresses follow.
#include "analyzer/columns/block_history.h"

#include <algorithm>

namespace memtrace::columns {

void BlockHistory::born(const BornBlock& birth) {
  if (births_.size() < kBirths) {
    births_.push_back(birth);
  } else {
    births_[count_ % kBirths] = birth;
  }
  ++count_;
  if (numbers_.empty()) return;
  if (2 * births_.size() <= numbers_.size()) return index(count_ - 1);
  numbers_.assign(2 * numbers_.size(), 0);
  for (std::uint64_t i = count_ - births_.size(); i < count_; ++i) index(i);
}

void BlockHistory::index(std::uint64_t births) {
  numbers_[slot_of(births_[births % kBirths].address)] = static_cast<std::uint32_t>(births);
}

std::uint64_t BlockHistory::births_since(std::uint64_t address) const {
  const std::uint32_t ago = static_cast<std::uint32_t>(count_) - numbers_[slot_of(address)];
  const BornBlock* const found = birth(ago);
  return found != nullptr && found->address == address ? ago : 0;
}

const BornBlock* BlockHistory::birth(std::uint64_t births_ago) const {
  if (births_ago == 0 || births_ago > kBirths || births_ago > count_) return nullptr;
  return &births_[(count_ - births_ago) % kBirths];
}

void BlockHistory::freed(const BornBlock& birth) {
  std::vector<std::uint64_t>& list = freed_[place_of(birth.given)];
  if (list.size() == kFreed) list.erase(list.begin());
  list.push_back(birth.address);
}

std::optional<std::size_t> BlockHistory::freed_after(std::uint64_t given, std::uint64_t address) const {
  const std::vector<std::uint64_t>& list = freed_[place_of(given)];
  const auto found = std::find(list.rbegin(), list.rend(), address);
  if (found == list.rend()) return std::nullopt;
  return static_cast<std::size_t>(found - list.rbegin());
}

std::optional<std::uint64_t> BlockHistory::take_freed(std::uint64_t given, std::size_t after) {
  std::vector<std::uint64_t>& list = freed_[place_of(given)];
  if (after >= list.size()) return std::nullopt;
  const auto at = list.end() - 1 - static_cast<std::ptrdiff_t>(after);
  const std::uint64_t address = *at;
  list.erase(at);
  return address;
}

} // namespace memtrace::columns
