// Purpose: caches the rules of the unwind tables, each once, in the order in which frames follow each other.
// Runs: inside the program's malloc.
#include "preload/stack/unwind_rule_cache.h"

#include <sys/mman.h>

#include "preload/bounded/fork_locks.h"
#include "preload/os/mappings.h"

namespace memtrace::record {
namespace {

using Cfa = FrameRule::Cfa;
using Bp = FrameRule::Bp;

// Read without a lock: a writer clears `address` before it changes the rest, and sets it afterwards.
struct CachedRule {
  std::uint64_t address;
  std::uint32_t rule;
  std::uint32_t next; // where the rule of the outer frame was found last
};
constexpr std::uint32_t kRules = 32 * 1024; // 512 KiB, touched as they are used; 0: no rule
constexpr std::uint32_t kIndex = 2 * kRules;

constinit SpinLock rules_lock; // taken by writers
REGISTER_LOCK(rules_lock, nullptr);
constinit CachedRule* rules = nullptr;
constinit std::uint16_t* places = nullptr; // by hash, open addressing; 0: empty
constinit std::uint32_t end = 1;

//   31..29 Cfa   28..27 Bp   26..11 CFA offset / 8   10..0 bp offset / 8
bool fits(const FrameRule& rule) {
  const std::int32_t cfa = rule.cfa_offset / 8, bp = rule.bp_offset / 8;
  return cfa * 8 == rule.cfa_offset && bp * 8 == rule.bp_offset && cfa == static_cast<std::int16_t>(cfa) &&
         bp >= -1024 && bp < 1024;
}
std::uint32_t pack(const FrameRule& rule) {
  return static_cast<std::uint32_t>(rule.cfa) << 29 | static_cast<std::uint32_t>(rule.bp) << 27 |
         (static_cast<std::uint32_t>(rule.cfa_offset / 8) & 0xFFFF) << 11 |
         (static_cast<std::uint32_t>(rule.bp_offset / 8) & 0x7FF);
}
FrameRule unpack(std::uint32_t word) {
  return {static_cast<Cfa>(word >> 29), static_cast<Bp>(word >> 27 & 3),
          static_cast<std::int32_t>(word << 5) >> 16 << 3, static_cast<std::int32_t>(word << 21) >> 21 << 3};
}

bool is_of(const CachedRule& known, std::uint64_t address) {
  return __atomic_load_n(&known.address, __ATOMIC_ACQUIRE) == address;
}

std::uint32_t start(std::uint64_t address) {
  return static_cast<std::uint32_t>(address * 0x9E3779B97F4A7C15u >> 48) % kIndex;
}

// Returns the place of the rule; 0: not cached. `*slot` is its index entry, or the free one for it.
std::uint32_t find(std::uint64_t address, std::uint32_t* slot) {
  for (std::uint32_t at = start(address);; at = (at + 1) % kIndex) {
    const std::uint32_t place = __atomic_load_n(&places[at], __ATOMIC_RELAXED);
    *slot = at;
    if (place == 0 || is_of(rules[place], address)) return place;
  }
}

// Caller holds the lock.
void forget() {
  for (std::uint32_t i = 1; i < end; ++i) __atomic_store_n(&rules[i].address, 0u, __ATOMIC_RELAXED);
  for (std::uint32_t i = 0; i < kIndex; ++i) // read first, so that unused pages stay untouched
    if (places[i] != 0) __atomic_store_n(&places[i], std::uint16_t{0}, __ATOMIC_RELAXED);
  end = 1;
}

std::uint32_t add(std::uint64_t address, const FrameRule& rule) {
  if (!rules_lock.try_lock()) return 0; // the next walk adds it
  if (end == kRules) forget();
  std::uint32_t slot;
  std::uint32_t place = find(address, &slot);
  if (place == 0) {
    place = end++;
    CachedRule& known = rules[place];
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&known.rule, pack(rule), __ATOMIC_RELAXED);
    __atomic_store_n(&known.next, 0u, __ATOMIC_RELAXED);
    __atomic_store_n(&known.address, address, __ATOMIC_RELEASE);
    __atomic_store_n(&places[slot], static_cast<std::uint16_t>(place), __ATOMIC_RELEASE);
  }
  rules_lock.unlock();
  return place;
}

} // namespace

bool open_frame_rules() {
  rules = static_cast<CachedRule*>(os::map_private(kRules * sizeof(CachedRule)));
  places = static_cast<std::uint16_t*>(os::map_private(kIndex * sizeof(std::uint16_t)));
  return frame_rules_are_open();
}

bool frame_rules_are_open() {
  return rules != nullptr && places != nullptr;
}

std::uint64_t frame_rules_bytes() {
  return frame_rules_are_open() ? end * sizeof(CachedRule) + kIndex * sizeof(std::uint16_t) : 0;
}

void forget_frame_rules() {
  const Locked locked(rules_lock);
  if (locked) forget();
}

// A reader without the lock then finds zeros, which match no address.
void drop_frame_rules() {
  const Locked locked(rules_lock);
  if (!locked || !frame_rules_are_open()) return;
  end = 1;
  os::advise(places, kIndex * sizeof(std::uint16_t), MADV_DONTNEED);
  os::advise(rules, kRules * sizeof(CachedRule), MADV_DONTNEED);
}

FrameRule frame_rule(std::uint64_t address, std::uint32_t& place) {
  const std::uint32_t inside = place;
  const std::uint32_t likely = __atomic_load_n(&rules[inside].next, __ATOMIC_RELAXED);
  std::uint32_t slot;
  place = is_of(rules[likely], address) ? likely : find(address, &slot);
  if (place != 0) {
    const std::uint32_t word = __atomic_load_n(&rules[place].rule, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (is_of(rules[place], address)) {
      if (place != likely) __atomic_store_n(&rules[inside].next, place, __ATOMIC_RELAXED);
      return unpack(word);
    }
  }
  FrameRule rule{};
  place = 0;
  // Addresses outside all objects are not cached, because an object may be loaded there later.
  if (!find_frame_rule(address, &rule) || !fits(rule)) return rule;
  place = add(address, rule);
  __atomic_store_n(&rules[inside].next, place, __ATOMIC_RELAXED);
  return rule;
}

} // namespace memtrace::record
