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

// The part of the cache in use doubles. `import transformers` alone brings 16,000 different stacks, a short
// program a hundred.
constexpr std::uint32_t kFirstSlots = 4 * 1024;
constexpr std::uint32_t kMostSlots = 64 * 1024;

constinit Range own{};
constinit Range interpreter{};
constinit KnownStack* cache = nullptr;
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
  StackHash sum() const {
    const std::uint64_t high = static_cast<std::uint64_t>(sum_ >> 64) ^ key_;
    const std::uint64_t mixed = (static_cast<std::uint64_t>(sum_) ^ high) * 0xD6E8FEB86659FD93u;
    return {(mixed ^ mixed >> 32) | 1u << 31, high};
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

KnownStack& slot_of(const StackHash& hash) {
  return cache[hash.low & (__atomic_load_n(&cache_slots, __ATOMIC_RELAXED) - 1)];
}

void remember(const StackHash& hash, StackId id) {
  std::uint32_t slots = __atomic_load_n(&cache_slots, __ATOMIC_RELAXED);
  slot_of(hash).set(hash, id);
  if (__atomic_add_fetch(&remembered, 1u, __ATOMIC_RELAXED) <= slots / 2 || slots == kMostSlots) return;
  const std::uint32_t lower = slots;
  if (!__atomic_compare_exchange_n(&cache_slots, &slots, 2 * lower, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    return; // another thread doubles it
  for (std::uint32_t i = 0; i < lower; ++i) cache[i].copy_if(lower, cache[i + lower]);
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
  cache = static_cast<KnownStack*>(os::map_private(kMostSlots * sizeof(KnownStack)));
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
  os::advise(cache, kMostSlots * sizeof(KnownStack), MADV_DONTNEED);
}

std::uint64_t stack_cache_bytes() {
  return cache == nullptr ? 0 : __atomic_load_n(&cache_slots, __ATOMIC_RELAXED) * sizeof(KnownStack);
}

namespace {

Frames native_walk(Thread& thread, std::size_t pythons) {
  Scratch& scratch = thread.scratch;
  if (pythons == 0) return unwind(scratch.native, kMaxNative, own, Range{}, 0, thread.walk);
  const PythonFrame& caller = scratch.python[0];
  const auto hint = reinterpret_cast<std::uint64_t>(caller.code) + static_cast<std::uint64_t>(caller.lasti);
  return unwind(scratch.native, kMaxNative, own, interpreter, hint, thread.walk);
}

struct Interned {
  StackId id;
  bool may_be_kept; // false: the lock may be free next time, and then the stack has more frames
};

Interned intern_stack(Scratch& scratch, StackId forward, std::size_t pythons, std::size_t natives) {
  StackId id{0};
  bool whole = true;
  if (forward != StackId{0}) {
    id = intern_native(forward, format::kForwardCall);
    if (id == forward) { // not interned: the block is not the forward call's own
      lost(format::Loss::stacks);
      return {StackId{0}, false};
    }
  } else {
    id = intern_path(scratch.python_trail, id, scratch.python, pythons, &intern_python, &whole);
  }
  if (whole) id = intern_path(scratch.native_trail, id, scratch.native, natives, &intern_native, &whole);
  if (!whole) lost(format::Loss::stacks);
  return {id, whole || stacks_are_full()};
}

// What identifies a stack: its Python frames or forward call, and its native frames. A known chain stands for
// the native frames by its number.
struct StackParts {
  StackId forward;
  std::size_t pythons;
  Frames native;
};

StackId id_of(Scratch& scratch, const StackParts& parts) {
  Hash hash;
  if (parts.forward != StackId{0}) {
    hash.add(static_cast<std::uint32_t>(parts.forward), format::kForwardCall);
  } else {
    for (std::size_t i = 0; i < parts.pythons; ++i) hash.add(scratch.python[i]);
  }
  KnownStacks* const of_chain = parts.native.stacks;
  Hash with_chain = hash;
  with_chain.add(parts.native.chain, 0);
  if (of_chain != nullptr) {
    if (const StackId id = of_chain->id_of(with_chain.sum()); id != StackId{0}) return id;
  }
  const std::size_t natives = parts.native.count;
  for (std::size_t i = 0; i < natives; i += 2)
    hash.add(scratch.native[i], i + 1 < natives ? scratch.native[i + 1] : 0);
  const StackHash sum = hash.sum();
  Interned stack{slot_of(sum).id_of(sum), true};
  if (stack.id == StackId{0}) {
    stack = intern_stack(scratch, parts.forward, parts.pythons, natives);
    if (stack.may_be_kept) remember(sum, stack.id);
  }
  if (of_chain != nullptr && stack.may_be_kept) of_chain->add(with_chain.sum(), stack.id);
  return stack.id;
}

CapturedStack capture(bool native) {
  if (settings.stacks == Stacks::none || cache == nullptr) return {};
  Thread* const thread = this_thread();
  if (thread == nullptr) return {};
  Scratch& scratch = thread->scratch;
  const bool with_python = settings.stacks != Stacks::native;
  ModuleCalls& calls = scratch.calls;
  const std::size_t pythons = with_python ? python_walk(scratch.python, kMaxPython, &calls) : 0;
  const Frames walked = native ? native_walk(*thread, pythons) : Frames{};
  if (pythons + walked.count == 0) return {};
  const CapturedStack call = forward_of(scratch.native, walked.count);
  const StackId forward = call.stack;
  const format::TextId module = forward != StackId{0} ? call.module : module_of(calls);
  const StackId id = id_of(scratch, {forward, pythons, walked});
  if (id == StackId{0} && forward != StackId{0}) return {}; // nor is the module the block's
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
