// Room: hooks. Runs inside the victim's malloc: call the real function, record, return.
// Job: the malloc family.
#include <errno.h>
#include <unistd.h>

#include <cstddef>

#include "hooks/real.h"
#include "record/recording.h"

#include "record/forbidden.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace memtrace::hooks {
namespace {

using format::Kind;
using format::Stamp;
using record::Block;
using record::draw_stamp;
using record::local;
using record::Recording;

// Mappings that the allocator below makes for its blocks are not the program's. glibc's own pass no hook.
class Inside {
 public:
  Inside() {
    if (foreign_allocator) ++local.inside;
  }
  ~Inside() {
    if (foreign_allocator) --local.inside;
  }
};

Block block_of(void* p, std::size_t usable, std::size_t asked) {
  return {reinterpret_cast<std::uint64_t>(p), usable, asked, Kind::heap};
}

// After the real call. `p` may be null: nothing happened then.
inline void born(void* p, std::size_t asked) {
  if (p == nullptr || !record::active() || is_bootstrap(p)) return;
  const std::size_t usable = real.usable(p);
  const std::size_t tensor = local.tensor_bytes;
  if (tensor == 0 && !record::tracked(usable)) [[likely]] {
    record::small_born(usable);
    return;
  }
  const Recording here;
  if (!here) return record::not_recorded();
  Block block = block_of(p, usable, asked);
  if (tensor != 0) {
    block.flags = format::kTensor;
    block.asked = tensor;
    local.tensor_bytes = 0;
  }
  here.born(block);
}

// Before the real call, which cannot fail.
inline void dies(void* p) {
  if (!record::active()) return;
  const std::size_t usable = real.usable(p);
  const bool tensor = local.tensor_freed;
  if (!tensor && !record::tracked(usable)) [[likely]] {
    record::small_died(usable);
    return;
  }
  const Recording here;
  if (!here) return record::not_recorded();
  local.tensor_freed = false;
  Block block = block_of(p, usable, 0);
  if (tensor) block.flags = format::kTensor;
  here.died(block, draw_stamp());
}

// A real call that gives memory, and its record.
template <class Call>
void* take(std::size_t asked, Call call) {
  void* p;
  {
    const Inside inside;
    p = call();
  }
  born(p, asked);
  return p;
}

// realloc of a block that the real allocator knows.
void* reallocate(void* p, std::size_t n) {
  if (!record::active()) return real.realloc(p, n);
  const std::size_t before = real.usable(p);
  const Stamp death = record::tracked(before) ? draw_stamp() : 0;
  void* q;
  {
    const Inside inside;
    q = real.realloc(p, n);
  }
  if (q == nullptr && n != 0) return nullptr; // failed: the old block lives on
  const std::size_t after = q == nullptr ? 0 : real.usable(q);
  const Block old = block_of(p, before, 0);
  if (q != nullptr && record::tracked(before) && record::tracked(after)) {
    if (const Recording here; here) {
      here.moved(old.address, before, block_of(q, after, n), death);
    } else {
      record::not_recorded();
    }
    return q;
  }
  if (!record::tracked(before)) {
    record::small_died(before);
  } else if (const Recording here; here) {
    here.died(old, death);
  } else {
    record::not_recorded();
  }
  born(q, n); // nothing when q is null: realloc(p, 0) was a death
  return q;
}

} // namespace
} // namespace memtrace::hooks

using namespace memtrace::hooks;

EXPORT void* malloc(std::size_t n) noexcept {
  return take(n, [&] { return real.malloc(n); });
}

EXPORT void free(void* p) noexcept {
  if (p == nullptr || is_bootstrap(p)) return;
  dies(p);
  const Inside inside;
  real.free(p);
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
  return take(count * size, [&] { return real.calloc(count, size); });
}

EXPORT void* realloc(void* p, std::size_t n) noexcept {
  if (p == nullptr) return malloc(n);
  if (!is_bootstrap(p)) return reallocate(p, n);
  void* const q = malloc(n); // a block from before the real allocator was known moves to it
  if (q != nullptr) __builtin_memcpy(q, p, bootstrap_size(p) < n ? bootstrap_size(p) : n);
  return q;
}

EXPORT void* reallocarray(void* p, std::size_t count, std::size_t size) noexcept {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(p, bytes);
}

EXPORT int posix_memalign(void** out, std::size_t align, std::size_t n) noexcept {
  int result;
  {
    const Inside inside;
    result = real.posix_memalign(out, align, n);
  }
  if (result == 0) born(*out, n);
  return result;
}

EXPORT void* aligned_alloc(std::size_t align, std::size_t n) noexcept {
  return take(n, [&] { return real.aligned_alloc(align, n); });
}
EXPORT void* memalign(std::size_t align, std::size_t n) noexcept {
  return take(n, [&] { return real.memalign(align, n); });
}
EXPORT void* valloc(std::size_t n) noexcept {
  return take(n, [&] { return real.valloc(n); });
}
EXPORT void* pvalloc(std::size_t n) noexcept {
  return take(n, [&] { return real.pvalloc(n); });
}
