// Room: record. Runs inside the victim's malloc.
// Job: who is asking: Python frames above native ones, as one id.
#include "record/stack.h"

#include <dlfcn.h>

#include "record/definitions.h"
#include "record/loss.h"
#include "record/modules.h"
#include "record/os.h"
#include "record/python_frames.h"
#include "record/settings.h"
#include "record/thread.h"
#include "record/unwinder.h"

namespace memtrace::record {

using format::StackId;

namespace {

constexpr std::uint32_t kCacheSlots = 64 * 1024; // `import transformers` alone brings 16,000 different stacks

struct Range {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  bool holds(std::uint64_t address) const { return address - start < end - start; }
};

// A stack seen before, found by 128 bits of hash. Read without a lock: `low` is cleared first and set last.
struct Cached {
  std::uint64_t low;
  std::uint64_t high;
  StackId id;
};

constinit Range own{};
constinit Range interpreter{};
constinit Cached* cache = nullptr;

struct Hash {
  std::uint64_t low = 0x243F6A8885A308D3u;
  std::uint64_t high = 0x13198A2E03707344u;
  void add(std::uint64_t value) {
    const auto wide = static_cast<unsigned __int128>(low ^ value) * 0x9E3779B97F4A7C15u;
    low = static_cast<std::uint64_t>(wide) ^ static_cast<std::uint64_t>(wide >> 64);
    high = (high ^ value) * 0xD6E8FEB86659FD93u;
    high ^= high >> 32;
  }
};

Range range_of(const void* address) {
  dl_find_object object{};
  if (!find_object(reinterpret_cast<std::uint64_t>(address), &object)) return {};
  return {reinterpret_cast<std::uint64_t>(object.dlfo_map_start),
          reinterpret_cast<std::uint64_t>(object.dlfo_map_end)};
}

// Return addresses of the program's frames, innermost first, up to the interpreter where Python frames follow.
std::size_t native_frames(Scratch& scratch, bool above_python) {
  local.unwinding = true; // it maps memory for its caches
  const std::size_t count = unwind(scratch.raw, kMaxNative);
  local.unwinding = false;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto address = reinterpret_cast<std::uint64_t>(scratch.raw[i]);
    if (own.holds(address)) continue;
    if (above_python && interpreter.holds(address)) break;
    scratch.native[kept++] = address;
  }
  return kept;
}

StackId look_up(const Hash& hash) {
  Cached& slot = cache[hash.low % kCacheSlots];
  if (__atomic_load_n(&slot.low, __ATOMIC_ACQUIRE) != hash.low || slot.high != hash.high) return StackId{0};
  const StackId id = slot.id;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return __atomic_load_n(&slot.low, __ATOMIC_RELAXED) == hash.low ? id : StackId{0};
}

void remember(const Hash& hash, StackId id) {
  Cached& slot = cache[hash.low % kCacheSlots];
  __atomic_store_n(&slot.low, 0u, __ATOMIC_RELEASE);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  slot.high = hash.high;
  slot.id = id;
  __atomic_store_n(&slot.low, hash.low, __ATOMIC_RELEASE);
}

} // namespace

void prepare_stacks() {
  cache = static_cast<Cached*>(os::map_private(kCacheSlots * sizeof(Cached)));
  own = range_of(reinterpret_cast<const void*>(&prepare_stacks));
  if (settings.stacks == Stacks::native || settings.stacks == Stacks::both) open_unwinder();
}

void hide_interpreter(const void* some_function_of_it) {
  interpreter = range_of(some_function_of_it);
}

StackId capture_stack(bool native) {
  if (settings.stacks == Stacks::none || cache == nullptr) return StackId{0};
  Thread* const thread = this_thread();
  if (thread == nullptr) return StackId{0};
  Scratch& scratch = thread->scratch;
  const PythonFrame* const python = scratch.python;
  const std::uint64_t* const addresses = scratch.native;
  const bool with_python = settings.stacks != Stacks::native;
  const std::size_t pythons = with_python ? python_walk(scratch.python, kMaxPython) : 0;
  const std::size_t natives = native ? native_frames(scratch, pythons != 0) : 0;
  if (pythons + natives == 0) return StackId{0};
  Hash hash;
  for (std::size_t i = 0; i < natives; ++i) hash.add(addresses[i]);
  for (std::size_t i = 0; i < pythons; ++i) {
    const PythonFrame& frame = python[i];
    hash.add(reinterpret_cast<std::uint64_t>(frame.code) + frame.lasti);
    hash.add(reinterpret_cast<std::uint64_t>(frame.line_table) ^ frame.first_line);
    hash.add(reinterpret_cast<std::uint64_t>(frame.file) ^ frame.name_hash);
  }
  if (hash.low == 0) hash.low = 1;
  StackId id = look_up(hash);
  if (id != StackId{0}) return id;
  bool whole = true;
  const auto below = [&](StackId next) {
    whole = whole && next != id;
    id = next;
  };
  for (std::size_t i = pythons; i-- > 0;) below(intern_python(id, python[i]));
  for (std::size_t i = natives; i-- > 0;) below(intern_native(id, addresses[i]));
  if (!whole) lost(format::Loss::stacks);
  if (whole || stacks_are_full()) remember(hash, id); // else its next sight may find the lock free
  return id;
}

} // namespace memtrace::record
