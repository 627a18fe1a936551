// Purpose: hooks of the malloc family.
// Runs: inside the program's malloc: call the real function, record, return.
#include <errno.h>
#include <unistd.h>

#include <cstddef>

#include "preload/api/export.h"
#include "preload/blocks/recording.h"
#include "preload/blocks/small_blocks.h"
#include "preload/hooks/symbols/real_functions.h"
#include "preload/os/timestamp.h"
#include "preload/record/live_levels.h"
#include "preload/rss/ledger_handshake.h"
#include "preload/state/arming.h"
#include "preload/state/fork_mark.h"
#include "preload/state/recorder_state.h"
#include "preload/state/thread.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks {
namespace {

using format::Kind;
using format::Stamp;
using record::draw_stamp;
using record::HookedBlock;
using record::local;
using record::Recording;

// Marks that the thread is inside the real allocator. Mappings that a foreign allocator makes for its blocks
// are not the program's. glibc's own mappings pass no hook.
class Inside {
 public:
  Inside() : is_(foreign_allocator) {
    if (is_) ++local.inside;
  }
  ~Inside() {
    if (is_) --local.inside;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool is_; // read when the call begins: the very first call finds the allocator
};

// True if no thread cache serves this size: glibc's have blocks of at most 1032 bytes, jemalloc's of 32 KiB.
bool beyond_caches(std::size_t asked) {
  return asked >= (foreign_allocator ? 64 * 1024 : 4 * 1024);
}

HookedBlock block_of(void* p, std::size_t usable, std::size_t asked) {
  return {reinterpret_cast<std::uint64_t>(p), usable, asked, Kind::heap};
}

// Records a failed call, but only for lack of memory: an invalid alignment is the caller's mistake. The mark of
// a tensor ends here: PyTorch throws, and the text of its error was recorded as the tensor.
[[gnu::cold, gnu::noinline]] void refused(std::size_t asked, int code) {
  const std::size_t tensor = local.tensor_bytes;
  local.tensor_bytes = 0;
  if (code != ENOMEM || !record::active()) return;
  record::check_raw_fork();
  const Recording here;
  if (!here) {
    record::event_is_lost();
    return;
  }
  HookedBlock block = block_of(nullptr, 0, asked);
  if (tensor != 0) {
    block.flags = format::kTensor;
    block.asked = tensor;
  }
  here.failed(block, {static_cast<std::uint32_t>(code)});
}

// Called after the real call. Returns `p`; null: the allocation failed.
[[gnu::noinline]] void* born(void* p, std::size_t asked) {
  if (p == nullptr) {
    if (asked != 0) refused(asked, errno);
    return p;
  }
  if (!record::active() || (record::maybe_tracked(p) && is_bootstrap(p))) return p;
  record::check_raw_fork();
  const std::size_t usable = usable_size(p);
  const std::size_t tensor = local.tensor_bytes;
  if (tensor == 0 && !record::tracked(usable)) {
    record::small_born(usable, reinterpret_cast<std::uint64_t>(p), asked);
    return p;
  }
  const Recording here;
  if (!here) {
    record::block_not_recorded(usable, 0, tensor != 0);
    return p;
  }
  HookedBlock block = block_of(p, usable, asked);
  if (tensor != 0) {
    block.flags = format::kTensor;
    block.asked = tensor;
    local.tensor_bytes = 0;
  }
  here.born(block);
  return p;
}

// In an armed process, a block that is not small changes levels, and nothing else. These return false if the
// block is small, or must be recorded. `p` is a block of glibc's, whose header has its size.
bool only_level_changed(std::size_t usable, std::int64_t change, bool tensor) {
  return (tensor || record::tracked(usable)) && record::change_armed_levels(change, tensor);
}
bool armed_born(void* p) {
  const std::size_t usable = usable_size(p);
  if (!only_level_changed(usable, static_cast<std::int64_t>(usable), local.tensor_bytes != 0)) return false;
  local.tensor_bytes = 0;
  return true;
}
bool armed_died(void* p) {
  const std::size_t usable = usable_size(p);
  if (!only_level_changed(usable, -static_cast<std::int64_t>(usable), local.tensor_freed)) return false;
  record::take_tensor_free();
  return true;
}

// Like born(), and offers the thread for a ledger. The call took the allocator's locks just now, so they can be
// taken again.
[[gnu::noinline]] void* born_in_turn(void* p, std::size_t asked) {
  if (record::is_armed() && real.sizes_in_headers && p != nullptr && armed_born(p)) return p;
  if (born(p, asked) != nullptr && beyond_caches(asked)) record::offer_ledger_turn();
  return p;
}

// Called before the real call, which cannot fail.
void dies(void* p) {
  if (!record::active()) return;
  record::check_raw_fork();
  const std::size_t usable = usable_size(p);
  record::before_large_death(usable);
  const bool tensor = local.tensor_freed;
  if (!tensor && !record::tracked(usable)) {
    record::small_died(usable);
    if (record::maybe_tracked(p)) record::sampled_dies(reinterpret_cast<std::uint64_t>(p), usable);
    return;
  }
  const Recording here;
  if (!here) return record::block_not_recorded(0, usable, tensor);
  record::take_tensor_free();
  HookedBlock block = block_of(p, usable, 0);
  if (tensor) block.flags = format::kTensor;
  here.died(block, draw_stamp());
}

// Makes a real call that returns memory, and records the block. The recorder starts before the call. If it
// waited still, a signal handler in the call could start it: the start takes memory, but the interrupted call
// has the allocator's lock.
template <class Call>
[[gnu::noinline]] void* take(std::size_t asked, Call call) {
  void* p;
  record::active();
  {
    const Inside inside;
    p = call();
  }
  return born_in_turn(p, asked);
}

[[gnu::noinline]] void give_back(void* p) {
  if (p == nullptr || (record::maybe_tracked(p) && is_bootstrap(p))) return;
  dies(p);
  const Inside inside;
  real.free(p);
}

// A block that is not small, or that is a tensor's.
[[gnu::noinline]] void give_back_large(void* p) {
  if (record::is_armed() && armed_died(p)) return real.free(p);
  give_back(p);
}

// The thread's countdown has run out: counts the block, and samples it if it is due.
[[gnu::noinline]] void* looked_at(void* p, std::size_t asked) {
  record::look_at_birth(reinterpret_cast<std::uint64_t>(p), usable_size(p), asked);
  return p;
}
[[gnu::noinline]] void give_back_looked_at(void* p) {
  if (local.tensor_freed) return give_back_large(p);
  record::look_at_death(usable_size(p));
  real.free(p);
}

// True if the block is small, the process is not the child of a raw clone, and it records. A block that is a
// mapping of its own has at least a page, so its header needs no look. PyTorch takes tensors by posix_memalign,
// and the mark of a tensor's free ends the countdown.
static_assert(record::kMostSmall <= 4096 - sizeof(std::size_t));
inline bool only_counted(std::size_t size) {
  return size < record::fork_mark->small_below;
}

// Returns `p` as a value of its own, for the rare functions. Otherwise the compiler moves the result of each
// call into the register of their argument, and back.
inline void* apart(void* p) {
  asm("" : "+r"(p));
  return p;
}

// The common case, in as few instructions as possible: a small block of glibc's malloc. All other cases are in
// functions that are not inlined, so that no register is saved for them here.
template <class Call>
inline void* take_quickly(std::size_t asked, Call call) {
  if (!real.sizes_in_headers) [[unlikely]]
    return real.passes_through ? call() : take(asked, call);
  void* const p = call();
  if (p == nullptr) [[unlikely]]
    return born(p, asked);
  const std::size_t size = size_in(header_of(p));
  if (!only_counted(size)) [[unlikely]]
    return born_in_turn(apart(p), asked);
  if (record::count_small_birth(size)) [[unlikely]]
    return looked_at(apart(p), asked);
  return p;
}
inline void give_back_quickly(void* p) {
  if (!real.sizes_in_headers) [[unlikely]]
    return real.passes_through ? real.free(p) : give_back(p);
  if (record::maybe_tracked(p)) [[unlikely]] // also for null and bootstrap blocks
    return give_back(p);
  const std::size_t size = size_in(header_of(p));
  if (!only_counted(size)) [[unlikely]]
    return give_back_large(p);
  if (record::count_small_death(size)) [[unlikely]]
    return give_back_looked_at(p);
  real.free(p);
}

// Records that realloc moved a large block, which stays large.
void record_move(const HookedBlock& old, const HookedBlock& to, Stamp death) {
  if (const Recording here; here) {
    here.moved(old.address, old.given, to, death);
  } else {
    record::block_not_recorded(to.given, old.given);
  }
  if (beyond_caches(to.asked)) record::offer_ledger_turn();
}

// `drawn`: the block is small, and the sampler recorded it.
void record_death(const HookedBlock& old, bool small, bool drawn, Stamp death) {
  if (small) {
    record::small_died(old.given);
    if (drawn) record::sampled_died(old.address, old.given, death);
  } else if (const Recording here; here) {
    here.died(old, death);
  } else {
    record::block_not_recorded(0, old.given);
  }
}

// Reallocates a block that the real allocator knows.
[[gnu::noinline]] void* reallocate(void* p, std::size_t n) {
  if (!record::active()) return real.realloc(p, n);
  record::check_raw_fork();
  const std::size_t before = usable_size(p);
  if (n < before / 2) record::before_large_death(before);
  const bool small = !record::tracked(before);
  const HookedBlock old = block_of(p, before, 0);
  // The sampler forgets the block before another thread can get its address.
  const bool drawn = small && record::maybe_tracked(p) && record::sampled_leaves(old.address);
  const Stamp death = !small || drawn ? draw_stamp() : 0;
  void* q;
  {
    const Inside inside;
    local.moving_from = old.address;
    local.moving = before < n ? before : n;
    q = real.realloc(p, n);
    local.moving = 0;
  }
  if (q == nullptr && n != 0) { // failed: the old block stays alive
    if (drawn) record::sampled_stays(old.address);
    refused(n, errno);
    return nullptr;
  }
  const std::size_t after = q == nullptr ? 0 : usable_size(q);
  if (q != nullptr && !small && record::tracked(after)) {
    record_move(old, block_of(q, after, n), death);
    return q;
  }
  record_death(old, small, drawn, death);
  if (q != nullptr) born(q, n); // realloc(p, 0) freed the block
  return q;
}

[[gnu::noinline]] void* reallocate_any(void* p, std::size_t n) {
  if (!is_bootstrap(p)) return reallocate(p, n);
  void* const q = ::malloc(n); // a block of the bootstrap arena moves to the real allocator
  if (q != nullptr) __builtin_memcpy(q, p, bootstrap_size(p) < n ? bootstrap_size(p) : n);
  return q;
}

// A small block was freed by realloc(p, 0), stays because the call failed, or has become large.
[[gnu::noinline]] void* reallocated_rarely(void* q, std::size_t before, std::size_t n) {
  if (q != nullptr || n == 0) record::small_died(before);
  return born(q, n);
}

// The thread's countdown of deaths has run out.
[[gnu::noinline]] void* reallocated_looked_at(void* q, std::size_t before, std::size_t n) {
  record::look_at_death(before);
  record::small_born(size_in(header_of(q)), reinterpret_cast<std::uint64_t>(q), n);
  return q;
}

// The common case: a small block of glibc's malloc that is not a sample, and stays small.
inline void* reallocate_quickly(void* p, std::size_t n) {
  const std::size_t before = size_in(header_of(p));
  if (!only_counted(before)) [[unlikely]]
    return reallocate(p, n);
  void* const q = real.realloc(p, n);
  if (q == nullptr || !only_counted(size_in(header_of(q)))) [[unlikely]]
    return reallocated_rarely(apart(q), before, n);
  if (record::count_small_death(before)) [[unlikely]]
    return reallocated_looked_at(apart(q), before, n);
  if (record::count_small_birth(size_in(header_of(q)))) [[unlikely]]
    return looked_at(apart(q), n);
  return q;
}

} // namespace
} // namespace memtrace::hooks

using namespace memtrace::hooks;

EXPORT void* malloc(std::size_t n) noexcept {
  return take_quickly(n, [=] { return real.malloc(n); });
}

EXPORT void free(void* p) noexcept {
  give_back_quickly(p);
}
EXPORT void cfree(void* p) noexcept {
  free(p);
}
EXPORT void free_sized(void* p, std::size_t) noexcept {
  free(p);
}
EXPORT void free_aligned_sized(void* p, std::size_t, std::size_t) noexcept {
  free(p);
}

EXPORT void* calloc(std::size_t count, std::size_t size) noexcept {
  std::size_t bytes;
  // On overflow the call fails, and the request counts as the largest size.
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = ~std::size_t{0};
  return take_quickly(bytes, [=] { return real.calloc(count, size); });
}

EXPORT void* realloc(void* p, std::size_t n) noexcept {
  if (real.sizes_in_headers && !memtrace::record::maybe_tracked(p)) [[likely]] // not for null
    return reallocate_quickly(p, n);
  return p == nullptr ? malloc(n) : reallocate_any(p, n);
}

EXPORT void* reallocarray(void* p, std::size_t count, std::size_t size) noexcept {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    refused(~std::size_t{0}, ENOMEM);
    return nullptr;
  }
  return realloc(p, bytes);
}

EXPORT int posix_memalign(void** out, std::size_t align, std::size_t n) noexcept {
  int result;
  memtrace::record::active(); // as in take()
  {
    const Inside inside;
    result = real.posix_memalign(out, align, n);
  }
  if (result == 0) {
    born_in_turn(*out, n);
  } else {
    refused(n, result);
  }
  return result;
}

EXPORT void* aligned_alloc(std::size_t align, std::size_t n) noexcept {
  return take(n, [=] { return real.aligned_alloc(align, n); });
}
EXPORT void* memalign(std::size_t align, std::size_t n) noexcept {
  return take(n, [=] { return real.memalign(align, n); });
}
EXPORT void* valloc(std::size_t n) noexcept {
  return take(n, [=] { return real.valloc(n); });
}
EXPORT void* pvalloc(std::size_t n) noexcept {
  return take(n, [=] { return real.pvalloc(n); });
}
