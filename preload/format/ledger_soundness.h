// Purpose: which of two ledgers stands for the peak.
// The recorder and the analyzer agree on it.
#pragma once

#include <cstdint>

namespace memtrace::format {

struct LedgerWorth {
  std::uint64_t total; // bytes of RSS
  bool asked;          // the allocator told what it keeps
  std::uint64_t drift; // bytes that came or went since
};
constexpr bool is_sound(const LedgerWorth& one) {
  return one.asked && one.drift <= one.total / 100;
}
// Of two at about the same height the sound one.
constexpr bool beats(const LedgerWorth& one, const LedgerWorth& other) {
  if (is_sound(one) == is_sound(other)) return one.total > other.total;
  return is_sound(one) ? one.total >= other.total - other.total / 100
                       : one.total - one.total / 100 > other.total;
}

} // namespace memtrace::format
