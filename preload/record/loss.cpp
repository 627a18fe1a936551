// Room: record. Runs inside the victim's malloc.
// Job: what was dropped, and why.
#include "record/loss.h"

namespace memtrace::record {
namespace {

constinit std::uint64_t early[16] = {};
constinit std::uint64_t* totals = early;

} // namespace

void lost(format::Loss reason, std::uint64_t events) {
  __atomic_fetch_add(&__atomic_load_n(&totals, __ATOMIC_RELAXED)[static_cast<std::size_t>(reason)], events,
                     __ATOMIC_RELAXED);
}

std::uint64_t lost_so_far(format::Loss reason) {
  return __atomic_load_n(&__atomic_load_n(&totals, __ATOMIC_RELAXED)[static_cast<std::size_t>(reason)],
                         __ATOMIC_RELAXED);
}

void keep_losses_in(std::uint64_t* kept) {
  std::uint64_t* const before = __atomic_exchange_n(&totals, kept != nullptr ? kept : early, __ATOMIC_RELAXED);
  if (kept == nullptr || before == kept) {
    for (std::uint64_t& count : early) count = 0; // a forked child starts anew
    return;
  }
  for (std::size_t i = 0; i < format::kLosses; ++i) __atomic_fetch_add(&kept[i], before[i], __ATOMIC_RELAXED);
}

} // namespace memtrace::record
