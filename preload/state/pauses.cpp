// Purpose: the pauses of the program's threads: their longest allowed length, and their histogram.
// Runs: inside the program's malloc.
#include "preload/state/pauses.h"

#include "preload/os/gate/start_page.h"

namespace memtrace::record {

using format::Pauses;

namespace {

constexpr std::uint64_t kOfOneProcessNs = 50'000'000;
constexpr std::uint64_t kOfRankNs = 1'000'000;

constinit bool one_of_ranks = false;
constinit Pauses early{};
ON_START_PAGE constinit Pauses* kept = &early; // the loader relocates it

std::size_t bucket_of(std::uint64_t ns) {
  std::size_t bucket = 0;
  while (bucket + 1 < format::kPauseBuckets && ns > std::uint64_t{format::kPauseLimitsUs[bucket]} * 1000)
    ++bucket;
  return bucket;
}

void raise_longest(Pauses& pauses, std::uint64_t ns) {
  std::uint64_t longest = __atomic_load_n(&pauses.longest_ns, __ATOMIC_RELAXED);
  while (ns > longest && !__atomic_compare_exchange_n(&pauses.longest_ns, &longest, ns, true, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED)) {
  }
}

} // namespace

std::uint64_t longest_ledger_pause() {
  return __atomic_load_n(&one_of_ranks, __ATOMIC_RELAXED) ? kOfRankNs : kOfOneProcessNs;
}

void is_one_of_ranks() {
  __atomic_store_n(&one_of_ranks, true, __ATOMIC_RELAXED);
}

void count_pause(std::uint64_t ns) {
  Pauses& pauses = *__atomic_load_n(&kept, __ATOMIC_RELAXED);
  __atomic_fetch_add(&pauses.sum_ns, ns, __ATOMIC_RELAXED);
  __atomic_fetch_add(&pauses.count[bucket_of(ns)], 1u, __ATOMIC_RELAXED);
  raise_longest(pauses, ns);
}

Pauses pauses_so_far() {
  return *__atomic_load_n(&kept, __ATOMIC_RELAXED);
}

void keep_pauses_in(format::RingFileHeader* header) {
  Pauses* const now = header != nullptr ? &header->pauses : &early;
  Pauses* const before = __atomic_exchange_n(&kept, now, __ATOMIC_RELAXED);
  if (header == nullptr) { // a forked child starts anew
    early = {};
    return;
  }
  if (before == now) return;
  __atomic_fetch_add(&now->sum_ns, before->sum_ns, __ATOMIC_RELAXED);
  for (std::size_t i = 0; i < format::kPauseBuckets; ++i)
    __atomic_fetch_add(&now->count[i], before->count[i], __ATOMIC_RELAXED);
  raise_longest(*now, before->longest_ns);
}

} // namespace memtrace::record
