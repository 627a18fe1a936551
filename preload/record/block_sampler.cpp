// Purpose: draws small blocks as samples, and remembers which sampled blocks are alive.
// Runs: on the path of sampled blocks, one per MEMTRACE_SAMPLE bytes on average.
#include "preload/record/block_sampler.h"

#include <sys/mman.h>

#include "preload/bounded/fork_locks.h"
#include "preload/os/mappings.h"
#include "preload/os/timestamp.h"
#include "preload/record/sampled_address_filter.h"
#include "preload/state/loss_counters.h"

namespace memtrace::record {

namespace {

constexpr std::uint32_t kBits = 17;
constexpr std::uint32_t kTable = 1u << kBits; // 1 MiB, touched as it fills
static_assert(kMaxSampled <= kTable / 4 * 3);

constinit SpinLock table_lock;
REGISTER_LOCK(table_lock, nullptr);
constinit std::uint64_t* table = nullptr; // addresses; 0: empty
constinit std::uint32_t held = 0;
constinit std::uint32_t version = 0; // odd while the table changes
constinit bool inherited = false;    // the table is the parent's

constexpr std::uint64_t kLn2 = 0xB17217F7D1CF79AB; // ln 2 * 2^64

// Returns -log2(value / 2^64) * 2^32; further bits are cut off. Counting zeros gives the integer part, and
// squaring gives the rest bit by bit.
std::uint64_t minus_log2(std::uint64_t value) {
  const int zeros = __builtin_clzll(value);
  std::uint64_t mantissa = value << zeros; // 1 <= mantissa / 2^63 < 2
  std::uint64_t fraction = 0;
  for (int bit = 31; bit >= 0; --bit) {
    const auto square = static_cast<unsigned __int128>(mantissa) * mantissa; // scaled by 2^126
    const bool two = square >> 127 != 0;
    mantissa = static_cast<std::uint64_t>(square >> (two ? 64 : 63));
    if (two) fraction |= std::uint64_t{1} << bit;
  }
  return (static_cast<std::uint64_t>(zeros + 1) << 32) - fraction;
}

std::uint32_t start_of(std::uint64_t address) {
  return static_cast<std::uint32_t>((address >> 4) * 0x9E3779B97F4A7C15u >> (64 - kBits));
}
std::uint32_t next(std::uint32_t at) {
  return (at + 1) % kTable;
}

// Returns the place of `address`, or the empty place where it would be. There is one, because the table is
// never full. The loop has a bound, because another thread may change the table meanwhile.
std::uint32_t place_of(std::uint64_t address) {
  std::uint32_t at = start_of(address);
  for (std::uint32_t tried = 0; tried < kTable; ++tried, at = next(at)) {
    const std::uint64_t there = __atomic_load_n(&table[at], __ATOMIC_RELAXED);
    if (there == address || there == 0) break;
  }
  return at;
}

void set(std::uint32_t at, std::uint64_t address) {
  __atomic_store_n(&table[at], address, __ATOMIC_RELAXED);
}

// Removes the entry at `gap`. Entries after it in its run move up, so that each is found from its start without
// a gap.
void remove(std::uint32_t gap) {
  for (std::uint32_t at = next(gap); table[at] != 0; at = next(at)) {
    const std::uint32_t home = start_of(table[at]);
    if ((at - home) % kTable < (at - gap) % kTable) continue;
    set(gap, table[at]);
    gap = at;
  }
  set(gap, 0);
}

// While it exists, it holds the lock, the table belongs to this process, and the version says that the table
// changes.
class SampleTable {
 public:
  SampleTable() : locked_(table_lock) {
    if (!locked_) return;
    __atomic_store_n(&version, version + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    if (inherited) start_anew();
  }
  ~SampleTable() {
    if (locked_) __atomic_store_n(&version, version + 1, __ATOMIC_RELEASE);
  }
  SampleTable(const SampleTable&) = delete;
  SampleTable& operator=(const SampleTable&) = delete;
  explicit operator bool() const { return static_cast<bool>(locked_); }

 private:
  static void start_anew() {
    filter_reset();
    // It is not unmapped, because another thread may read it.
    if (table != nullptr) os::advise(table, kTable * sizeof *table, MADV_DONTNEED);
    held = 0;
    __atomic_store_n(&inherited, false, __ATOMIC_RELEASE);
  }
  Locked locked_;
};

// True if `address` is not in the table, as most addresses that the filter lets through. Takes no lock. False
// if the table was changing.
bool surely_not_held(std::uint64_t address) {
  const std::uint32_t before = __atomic_load_n(&version, __ATOMIC_ACQUIRE);
  if (before % 2 != 0 || __atomic_load_n(&inherited, __ATOMIC_ACQUIRE)) return false;
  const bool held_now = sampled_holds(address);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return !held_now && __atomic_load_n(&version, __ATOMIC_RELAXED) == before;
}

} // namespace

std::int64_t next_interval(std::uint64_t& random, std::uint64_t mean) {
  if (mean == 0) return INT64_MAX / 2;
  // xorshift64*
  random ^= random >> 12;
  random ^= random << 25;
  random ^= random >> 27;
  const std::uint64_t uniform = random * 0x2545F4914F6CDD1Du;
  const std::uint64_t nats = static_cast<std::uint64_t>(
      static_cast<unsigned __int128>(minus_log2(uniform != 0 ? uniform : 1)) * kLn2 >> 64); // below 45 * 2^32
  return static_cast<std::int64_t>(static_cast<unsigned __int128>(nats) * mean >> 32) + 1;
}

std::uint64_t seed_for(std::uint64_t thread) {
  // splitmix64
  std::uint64_t mixed = draw_stamp() + (thread + 1) * 0x9E3779B97F4A7C15u;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
  mixed ^= mixed >> 31;
  return mixed != 0 ? mixed : 1;
}

bool sampled_put(std::uint64_t address) {
  const SampleTable changing;
  if (!changing) {
    lost(format::Loss::busy);
    return false;
  }
  if (table == nullptr) table = static_cast<std::uint64_t*>(os::map_private(kTable * sizeof *table));
  if (table == nullptr || held == kMaxSampled) {
    lost(format::Loss::memory);
    return false;
  }
  const std::uint32_t at = place_of(address);
  if (table[at] == 0) { // otherwise the last free here was lost
    filter_add(address);
    ++held;
  }
  set(at, address);
  return true;
}

bool sampled_take(std::uint64_t address) {
  if (surely_not_held(address)) return false;
  const SampleTable changing;
  if (!changing) {
    lost(format::Loss::busy);
    return false;
  }
  if (table == nullptr) return false;
  const std::uint32_t at = place_of(address);
  if (table[at] == 0) return false;
  remove(at);
  --held;
  filter_remove(address);
  return true;
}

bool sampled_holds(std::uint64_t address) {
  return !__atomic_load_n(&inherited, __ATOMIC_ACQUIRE) && table != nullptr &&
         table[place_of(address)] == address;
}

void sampled_forked() {
  version = 0;
  inherited = true;
}

} // namespace memtrace::record
