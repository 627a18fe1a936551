// Purpose: captures the calling stack as one id: Python frames outside, native frames inside; and the module
// of a model that runs.
// Runs: inside the program's malloc.
#include "preload/record/stack_capture.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include "preload/os/mappings.h"
#include "preload/record/autograd_nodes.h"
#include "preload/record/interner.h"
#include "preload/record/model_modules.h"
#include "preload/record/thread_entry.h"
#include "preload/stack/loaded_modules.h"
#include "preload/stack/native_unwinder.h"
#include "preload/stack/python_frames.h"
#include "preload/state/loss_counters.h"
#include "preload/state/settings.h"
#include "preload/state/thread.h"

namespace memtrace::record {

using format::StackId;

namespace {

// A known stack, found by 96 bits of its hash. Threads read and write it without a lock. The upper 32 bits are
// in one word with the id. If two stacks are written at the same time, their halves therefore do not match.
struct Cached {
  std::uint64_t low;
  std::uint64_t high_and_id;
};
// The part of the cache in use doubles. `import transformers` alone brings 16,000 different stacks, a short
// program a hundred.
constexpr std::uint32_t kFirstSlots = 4 * 1024;
constexpr std::uint32_t kMostSlots = 64 * 1024;

constinit Range own{};
constinit Range interpreter{};
constinit Cached* cache = nullptr;
constinit std::uint32_t cache_slots = kFirstSlots;
constinit std::uint32_t remembered = 0;

// A sum of products, each with its own keys. The multiplications of a stack run in parallel. In a chain, each
// would wait for the one before.
class Hash {
 public:
  void add(std::uint64_t a, std::uint64_t b) {
    key_ += 0x9E3779B97F4A7C15u;
    other_key_ += 0xD1B54A32D192ED03u;
    sum_ += static_cast<unsigned __int128>(a ^ key_) * (b ^ other_key_);
  }
  void add(const PythonFrame& frame) {
    const std::uint64_t where =
        reinterpret_cast<std::uint64_t>(frame.code) + (static_cast<std::uint64_t>(frame.lasti) << 40);
    const std::uint64_t file =
        reinterpret_cast<std::uint64_t>(frame.file) + (static_cast<std::uint64_t>(frame.first_line) << 40);
    add(where, frame.name_hash + reinterpret_cast<std::uint64_t>(frame.line_table) * 0xD6E8FEB86659FD93u +
                   file * 0xBF58476D1CE4E5B9u);
  }
  std::uint64_t high() const { return static_cast<std::uint64_t>(sum_ >> 64) ^ key_; }
  // Returns a value that is never 0, because empty slots have 0.
  std::uint64_t low() const {
    const std::uint64_t mixed = (static_cast<std::uint64_t>(sum_) ^ high()) * 0xD6E8FEB86659FD93u;
    return (mixed ^ mixed >> 32) | 1u << 31;
  }

 private:
  unsigned __int128 sum_ = 0;
  std::uint64_t key_ = 0x243F6A8885A308D3u;
  std::uint64_t other_key_ = 0x13198A2E03707344u;
};

Range range_of(const void* address) {
  dl_find_object object{};
  if (!find_object(reinterpret_cast<std::uint64_t>(address), &object)) return {};
  return {reinterpret_cast<std::uint64_t>(object.dlfo_map_start),
          reinterpret_cast<std::uint64_t>(object.dlfo_map_end)};
}

StackId look_up(std::uint64_t low, std::uint64_t high) {
  const Cached& slot = cache[low & (__atomic_load_n(&cache_slots, __ATOMIC_RELAXED) - 1)];
  if (__atomic_load_n(&slot.low, __ATOMIC_RELAXED) != low) return StackId{0};
  const std::uint64_t word = __atomic_load_n(&slot.high_and_id, __ATOMIC_ACQUIRE);
  return (word ^ high) >> 32 == 0 ? StackId{static_cast<std::uint32_t>(word)} : StackId{0};
}

void put(Cached& slot, std::uint64_t low, std::uint64_t high_and_id) {
  __atomic_store_n(&slot.high_and_id, high_and_id, __ATOMIC_RELEASE);
  __atomic_store_n(&slot.low, low, __ATOMIC_RELAXED);
}

void remember(std::uint64_t low, std::uint64_t high, StackId id) {
  std::uint32_t slots = __atomic_load_n(&cache_slots, __ATOMIC_RELAXED);
  put(cache[low & (slots - 1)], low, high >> 32 << 32 | static_cast<std::uint32_t>(id));
  if (__atomic_add_fetch(&remembered, 1u, __ATOMIC_RELAXED) <= slots / 2 || slots == kMostSlots) return;
  const std::uint32_t lower = slots;
  if (!__atomic_compare_exchange_n(&cache_slots, &slots, 2 * lower, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    return; // another thread doubles it
  for (std::uint32_t i = 0; i < lower; ++i) {
    const std::uint64_t word = __atomic_load_n(&cache[i].high_and_id, __ATOMIC_ACQUIRE);
    const std::uint64_t here = __atomic_load_n(&cache[i].low, __ATOMIC_RELAXED);
    if (here & lower) put(cache[i + lower], here, word);
  }
}

// Interns `frames` (innermost first) below `base`, from the first frame that differs from the trail. Clears
// `*whole` if a frame could not be added.
template <class Frame, std::size_t Capacity, class Intern>
StackId intern_path(Trail<Frame, Capacity>& trail, StackId base, const Frame* frames, std::size_t count,
                    Intern intern, bool* whole) {
  if (trail.base != base) trail.count = 0;
  trail.base = base;
  std::uint32_t shared = 0;
  while (shared < count && shared < trail.count && trail.frames[shared] == frames[count - 1 - shared]) ++shared;
  StackId id = shared == 0 ? base : trail.ids[shared - 1];
  trail.count = shared;
  for (std::size_t i = count - shared; i-- > 0;) {
    const StackId next = intern(id, frames[i]);
    if (next == id) { // ends with the known frames: inner frames would get a wrong caller
      *whole = false;
      break;
    }
    id = next;
    trail.frames[trail.count] = frames[i];
    trail.ids[trail.count++] = id;
  }
  return id;
}

} // namespace

void prepare_stacks() {
  cache = static_cast<Cached*>(os::map_private(kMostSlots * sizeof(Cached)));
  own = range_of(reinterpret_cast<const void*>(&prepare_stacks));
  if (settings.stacks == Stacks::native || settings.stacks == Stacks::both) open_unwinder();
  if (settings.stacks == Stacks::both) prepare_nodes();
  if (settings.stacks == Stacks::both || settings.stacks == Stacks::python) prepare_modules();
}

void hide_interpreter(const void* some_function_of_it) {
  interpreter = range_of(some_function_of_it);
}

// Empties the cache and frees its pages. If another thread looks up a stack meanwhile, it finds zeros. If it
// adds a stack, the page that it writes stays in memory.
void drop_stack_cache() {
  if (cache == nullptr) return;
  __atomic_store_n(&cache_slots, kFirstSlots, __ATOMIC_RELAXED);
  __atomic_store_n(&remembered, 0u, __ATOMIC_RELAXED);
  os::advise(cache, kMostSlots * sizeof(Cached), MADV_DONTNEED);
}

std::uint64_t stack_cache_bytes() {
  return cache == nullptr ? 0 : __atomic_load_n(&cache_slots, __ATOMIC_RELAXED) * sizeof(Cached);
}

namespace {

std::size_t native_walk(Thread& thread, std::size_t pythons) {
  Scratch& scratch = thread.scratch;
  if (pythons == 0) return unwind(scratch.native, kMaxNative, own, Range{}, 0, thread.walk);
  const PythonFrame& caller = scratch.python[0];
  const auto hint = reinterpret_cast<std::uint64_t>(caller.code) + static_cast<std::uint64_t>(caller.lasti);
  return unwind(scratch.native, kMaxNative, own, interpreter, hint, thread.walk);
}

CapturedStack capture(bool native) {
  if (settings.stacks == Stacks::none || cache == nullptr) return {};
  Thread* const thread = this_thread();
  if (thread == nullptr) return {};
  Scratch& scratch = thread->scratch;
  const PythonFrame* const python = scratch.python;
  const std::uint64_t* const addresses = scratch.native;
  const bool with_python = settings.stacks != Stacks::native;
  ModuleCalls& calls = scratch.calls;
  const std::size_t pythons = with_python ? python_walk(scratch.python, kMaxPython, &calls) : 0;
  const std::size_t natives = native ? native_walk(*thread, pythons) : 0;
  if (pythons + natives == 0) return {};
  const CapturedStack call = forward_of(addresses, natives);
  const StackId forward = call.stack;
  const format::TextId module = forward != StackId{0} ? call.module : module_of(calls);
  Hash hash;
  for (std::size_t i = 0; i < natives; i += 2) hash.add(addresses[i], i + 1 < natives ? addresses[i + 1] : 0);
  if (forward != StackId{0}) {
    hash.add(static_cast<std::uint32_t>(forward), format::kForwardCall);
  } else {
    for (std::size_t i = 0; i < pythons; ++i) hash.add(python[i]);
  }
  const std::uint64_t low = hash.low();
  const std::uint64_t high = hash.high();
  StackId id = look_up(low, high);
  if (id != StackId{0}) return {id, module};
  bool whole = true;
  if (forward != StackId{0}) {
    id = intern_native(forward, format::kForwardCall);
    if (id == forward) { // not interned: the block is not the forward call's own
      lost(format::Loss::stacks);
      return {};
    }
  } else {
    id = intern_path(scratch.python_trail, id, python, pythons, &intern_python, &whole);
  }
  if (whole) id = intern_path(scratch.native_trail, id, addresses, natives, &intern_native, &whole);
  if (!whole) lost(format::Loss::stacks);
  if (whole || stacks_are_full()) remember(low, high, id); // otherwise the lock may be free next time
  return {id, module};
}

} // namespace

CapturedStack capture_stack(bool native) {
  const CapturedStack captured = capture(native);
  if (local.node_to_come != 0) {
    note_forward(local.node_to_come, captured);
    local.node_to_come = 0;
  }
  return captured;
}

} // namespace memtrace::record
