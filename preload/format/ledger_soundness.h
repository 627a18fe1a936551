// Purpose: decides which of two ledgers represents the peak.
// The recorder and the analyzer share this rule.
#pragma once

#include <cstdint>

namespace memtrace::format {

struct LedgerWorth {
  std::uint64_t total; // bytes of RSS
  bool asked;          // the allocator reported how much it retains
  std::uint64_t drift; // bytes that came or went meanwhile
};
constexpr bool is_sound(const LedgerWorth& one) {
  return one.asked && one.drift <= one.total / 100;
}
// True if `one` represents the peak better than `other`. The higher total wins. If the totals differ by at most
// 1 %, a sound ledger wins over one that is not sound.
constexpr bool beats(const LedgerWorth& one, const LedgerWorth& other) {
  if (is_sound(one) == is_sound(other)) return one.total > other.total;
  return is_sound(one) ? one.total >= other.total - other.total / 100
                       : one.total - one.total / 100 > other.total;
}

} // namespace memtrace::format
