// Purpose: the chains of frames that walks found, with the words of the stack that each walk read.
// Runs: inside the program's malloc.
#include "preload/stack/known_chains.h"

#include <sys/mman.h>

#include "preload/bounded/fork_locks.h"
#include "preload/os/mappings.h"

namespace memtrace::record {
namespace {

// In the arena, its words follow: first the values, then their places. First those of the return addresses
// that are shown, then of the others, then the addresses of the stack. Written once, before the link to it.
struct StoredChain {
  std::uint32_t key;
  std::uint32_t next; // in units of 8 bytes: the older chain of the bucket; 0: none
  std::uint32_t number;
  std::uint16_t highest_place;
  std::uint8_t kind;
  std::uint8_t shown;
  std::uint8_t hidden;
  std::uint8_t relative;
  KnownStacks stacks;
};
static_assert(sizeof(StoredChain) == 56);

// The frames that a walk left out, its end and its capacity.
struct WalkKind {
  std::uint64_t skip;
  std::uint64_t stop;
  std::size_t capacity;
};

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint32_t kArenaWords = 128 * 1024; // 1 MiB, touched as it is used: some 2,300 chains
constexpr std::uint32_t kLineWords = 8;           // of a cache line: each chain begins at one
constexpr std::uint32_t kBuckets = 4096;
constexpr int kMostTried = 8; // chains of a bucket
// Each time that the room was used up, only half as many chains are added: those that recur are added all the
// same.
constexpr std::uint32_t kMostTimesFull = 6;
constexpr std::size_t kKinds = 4; // with and without Python frames; tests have others

constinit SpinLock chains_lock; // taken by writers
REGISTER_LOCK(chains_lock, nullptr);
constinit std::uint64_t* arena = nullptr;
constinit std::uint32_t buckets[kBuckets] = {}; // the newest chain of each
constinit std::uint32_t seen[kBuckets] = {};    // hashes of chains that were walked by rules
constinit WalkKind kinds[kKinds] = {};
constinit std::uint32_t kinds_made = 0;
constinit ReadWord words_to_add[kMostReadWords] = {}; // not on the program's stack, which may be small
constinit std::uint32_t end = kLineWords;
constinit std::uint32_t times_full = 0;
constinit std::uint32_t offered = 0; // chains
// Odd while the chains are being forgotten. A reader that sees two different values read chains of two times.
constinit std::uint32_t generation = 0;

template <class T>
T load(const T& from) {
  return __atomic_load_n(&from, __ATOMIC_RELAXED);
}
template <class T>
void store(T& to, T value) {
  __atomic_store_n(&to, value, __ATOMIC_RELAXED);
}

std::uint64_t word_at(std::uint64_t address) {
  return *reinterpret_cast<const std::uint64_t*>(address);
}

std::uint32_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  const std::uint64_t sum = a * 0x9E3779B97F4A7C15u + b * 0xD6E8FEB86659FD93u + c * 0xBF58476D1CE4E5B9u;
  return static_cast<std::uint32_t>((sum ^ sum >> 29) * 0x94D049BB133111EBu >> 32);
}

std::uint32_t key_of(const WalkStart& start) {
  return mixed(word_at(start.base + 8), start.base, start.hint);
}

// Returns the number of this kind of walk; kKinds: it has none yet.
std::uint32_t kind_of(const WalkStart& start) {
  const std::uint32_t made = __atomic_load_n(&kinds_made, __ATOMIC_ACQUIRE);
  for (std::uint32_t i = 0; i < made; ++i)
    if (kinds[i].skip == start.skip.start && kinds[i].stop == start.stop.start &&
        kinds[i].capacity == start.capacity)
      return i;
  return kKinds;
}

// Returns the number of this kind of walk; kKinds: there is no room for one more. The caller holds the lock.
std::uint32_t kind_to_add(const WalkStart& start) {
  const std::uint32_t known = kind_of(start);
  if (known != kKinds || kinds_made == kKinds) return known;
  kinds[kinds_made] = {start.skip.start, start.stop.start, start.capacity};
  __atomic_store_n(&kinds_made, kinds_made + 1, __ATOMIC_RELEASE);
  return kinds_made - 1;
}

// The words of a chain in the arena. While the chain is read, another may be written there: each value is
// checked before use, and the generation afterwards.
struct Words {
  const std::uint64_t* values;
  const std::uint16_t* places;
};

Words words_of(const StoredChain& chain, std::size_t count) {
  const auto* const values = reinterpret_cast<const std::uint64_t*>(&chain + 1);
  return {values, reinterpret_cast<const std::uint16_t*>(values + count)};
}

// Words of one group that are not compared yet, in the order of their places.
struct Uncompared {
  std::size_t at;
  std::size_t to;
  std::uint64_t relative_to; // subtracted from the word on the stack
};

// Compares the words below `end_place`. Returns bits that differ. There is no branch by the words, so
// that their reads overlap.
[[gnu::always_inline]] inline std::uint64_t differences(const Words& words, Uncompared& rest,
                                                        std::uint64_t base, std::uint64_t end_place) {
  std::uint64_t different = 0;
  for (; rest.at < rest.to; ++rest.at) {
    const std::uint64_t place = load(words.places[rest.at]);
    if (place >= end_place) break;
    different |= (word_at(base + place * 8) - rest.relative_to) ^ load(words.values[rest.at]);
  }
  return different;
}

// True if the chain is that of the words on the stack. Compares page by page. If all words of the pages so far
// are there, a walk would find the next frame, too. So the next page belongs to this stack. If one differs,
// this stack may end below the next page, and the memory above it may be gone.
bool matches(const StoredChain& chain, const WalkStart& start) {
  const std::size_t shown = load(chain.shown);
  const std::size_t addresses = shown + load(chain.hidden);
  const std::size_t count = addresses + load(chain.relative);
  const std::uint64_t last_place = (start.readable_end - start.base) / 8 - 1;
  if (load(chain.highest_place) > last_place || count > kMostReadWords) return false;
  const Words words = words_of(chain, count);
  Uncompared first{0, shown, 0}, second{shown, addresses, 0}, third{addresses, count, start.base};
  for (std::uint64_t page = (kPageBytes - start.base % kPageBytes) / 8;; page += kPageBytes / 8) {
    const std::uint64_t end_of_page = page < last_place ? page : last_place + 1;
    if ((differences(words, first, start.base, end_of_page) |
         differences(words, second, start.base, end_of_page) |
         differences(words, third, start.base, end_of_page)) != 0)
      return false;
    if (first.at == shown && second.at == addresses && third.at == count) return true;
    if (page > last_place) return false; // read while it was written
  }
}

// The caller holds the lock.
void forget(bool and_pages) {
  __atomic_store_n(&generation, generation + 1, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  for (std::uint32_t& bucket : buckets)
    if (load(bucket) != 0) store(bucket, 0u);
  if (and_pages) os::advise(arena, kArenaWords * sizeof(std::uint64_t), MADV_DONTNEED);
  end = kLineWords;
  __atomic_store_n(&generation, generation + 1, __ATOMIC_RELEASE);
}

// Returns the words of the arena that a chain of `count` words takes.
std::uint32_t room_for(std::size_t count) {
  const std::size_t words = sizeof(StoredChain) / 8 + count + (count + 3) / 4;
  return static_cast<std::uint32_t>((words + kLineWords - 1) / kLineWords * kLineWords);
}

enum class Group : std::uint8_t { shown, hidden, relative };

Group group_of(const ReadWord& word) {
  if (word.is_address_of_stack) return Group::relative;
  return word.is_shown ? Group::shown : Group::hidden;
}

// Writes the words of one group after the first `at`. Returns the end of the group.
std::size_t write_group(const Words& to, std::size_t at, std::size_t count, Group group) {
  for (std::size_t i = 0; i < count; ++i) {
    const ReadWord& word = words_to_add[i];
    if (group_of(word) != group) continue;
    store(const_cast<std::uint64_t&>(to.values[at]), word.value);
    store(const_cast<std::uint16_t&>(to.places[at++]), static_cast<std::uint16_t>(word.place));
  }
  return at;
}

// The caller holds the lock, and there is room.
void write_chain(const WalkStart& start, std::uint32_t kind, std::size_t count, std::uint32_t highest_place) {
  StoredChain& chain = *reinterpret_cast<StoredChain*>(arena + end);
  const Words words = words_of(chain, count);
  const std::size_t shown = write_group(words, 0, count, Group::shown);
  const std::size_t addresses = write_group(words, shown, count, Group::hidden);
  write_group(words, addresses, count, Group::relative);
  const std::uint32_t key = key_of(start);
  std::uint32_t& bucket = buckets[key % kBuckets];
  store(chain.key, key);
  store(chain.next, bucket);
  store(chain.kind, static_cast<std::uint8_t>(kind));
  store(chain.shown, static_cast<std::uint8_t>(shown));
  store(chain.hidden, static_cast<std::uint8_t>(addresses - shown));
  store(chain.relative, static_cast<std::uint8_t>(count - addresses));
  store(chain.number, offered);
  store(chain.highest_place, static_cast<std::uint16_t>(highest_place));
  chain.stacks.clear();
  __atomic_store_n(&bucket, end, __ATOMIC_RELEASE);
  end += room_for(count);
}

} // namespace

bool open_known_chains() {
  arena = static_cast<std::uint64_t*>(os::map_private(kArenaWords * sizeof(std::uint64_t)));
  return arena != nullptr;
}

std::uint64_t known_chains_bytes() {
  return end * sizeof(std::uint64_t) + sizeof(buckets) + sizeof(seen);
}

Frames known_chain(const WalkStart& start, std::uint64_t* out) {
  const std::uint32_t before = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
  const std::uint32_t kind = kind_of(start);
  const std::uint32_t key = key_of(start);
  std::uint32_t at = __atomic_load_n(&buckets[key % kBuckets], __ATOMIC_ACQUIRE);
  for (int tried = 0; at != 0 && tried < kMostTried; ++tried) {
    StoredChain& chain = *reinterpret_cast<StoredChain*>(arena + at);
    if (load(chain.key) == key && load(chain.kind) == kind && matches(chain, start)) {
      const std::size_t shown = load(chain.shown);
      const auto* const values = reinterpret_cast<const std::uint64_t*>(&chain + 1);
      if (shown > start.capacity) return {};
      for (std::size_t i = 0; i < shown; ++i) out[i] = load(values[i]);
      const Frames found{shown, &chain.stacks, load(chain.number)};
      __atomic_thread_fence(__ATOMIC_ACQUIRE);
      return before % 2 == 0 && load(generation) == before ? found : Frames{};
    }
    at = load(chain.next);
    if (at >= kArenaWords - room_for(kMostReadWords)) break; // read while it was written
  }
  return {};
}

ReadWord* begin_chain(const WalkStart& start, const std::uint64_t* frames, std::size_t count) {
  std::uint64_t sum = start.hint;
  for (std::size_t i = 0; i < count; ++i) sum = (sum ^ frames[i]) * 0xD6E8FEB86659FD93u;
  const std::uint32_t hash = mixed(sum, start.base, start.hint) | 1;
  std::uint32_t& last = seen[hash / 2 % kBuckets];
  if (load(last) != hash) { // most chains of an import never come again
    store(last, hash);
    return nullptr;
  }
  if (!chains_lock.try_lock()) return nullptr;
  if (offered++ % (1u << times_full) == 0) return words_to_add;
  chains_lock.unlock();
  return nullptr;
}

void end_chain(const WalkStart& start, std::size_t count) {
  std::uint32_t highest = 0;
  for (std::size_t i = 0; i < count; ++i)
    highest = words_to_add[i].place > highest ? words_to_add[i].place : highest;
  const std::uint32_t kind = kind_to_add(start);
  if (count != 0 && highest <= 0xFFFF && kind != kKinds) {
    if (end + room_for(kMostReadWords) > kArenaWords) {
      forget(false);
      if (times_full < kMostTimesFull) ++times_full;
    }
    write_chain(start, kind, count, highest);
  }
  chains_lock.unlock();
}

void forget_known_chains() {
  const Locked locked(chains_lock);
  if (locked && arena != nullptr) forget(false);
}

void drop_known_chains() {
  const Locked locked(chains_lock);
  if (locked && arena != nullptr) forget(true);
}

} // namespace memtrace::record
