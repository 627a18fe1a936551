// Purpose: the code that the hooks of the CUDA runtime and of the driver share.
// Runs: inside CUDA's calls: call the real function, record, return.
#pragma once

#include "preload/blocks/recording.h"
#include "preload/device/device_blocks.h"
#include "preload/device/device_call_scope.h"
#include "preload/hooks/cuda/device_facts.h"
#include "preload/hooks/cuda/function_table.h"
#include "preload/hooks/cuda/torch_allocators.h"
#include "preload/hooks/cuda/types.h"
#include "preload/os/timestamp.h"
#include "preload/state/recorder_state.h"
#include "preload/state/thread.h"

namespace memtrace::hooks::cuda {

using format::Kind;
using format::Stamp;
using record::DeviceCall;
using record::HookedBlock;

// Returns the error that a program gets if the real function is missing.
inline int absent(Function function) {
  return function < Function::cuMemAlloc_v2 ? kNoDriver : kNotFound;
}

// Returns 0 (host) for pinned and registered memory, else the memory of the current device.
inline unsigned memory_of(Kind kind) {
  return kind == Kind::pinned || kind == Kind::registered ? 0 : current_memory();
}

// Returns 0 for pool memory, which does not die with a context (documentation of cuCtxDestroy).
inline std::uint64_t context_of(Kind kind) {
  return kind == Kind::device_async ? 0 : current_context();
}

// Records a call that failed for lack of memory, with the free and total bytes of the device.
void refused(int result, Kind kind, std::size_t asked);

// True if no device hook is open on this thread. Queries wait for that, so nested hooks do not repeat them.
inline bool outermost() {
  return record::local.device_calls == 0 && record::active();
}

inline std::uint64_t word(const void* p) {
  return reinterpret_cast<std::uint64_t>(p);
}
inline std::uint64_t word(Address address) {
  return address;
}

inline HookedBlock on_device(std::uint64_t address, std::uint64_t given, std::uint64_t asked) {
  return {address, given, asked, Kind::device, 0, current_memory()};
}
// Returns a block that counts in no level: memory of another process or interface, or a reserved address range.
inline HookedBlock uncounted(std::uint64_t address, std::uint64_t bytes, Kind kind) {
  return {address, bytes, bytes, kind, format::kNoAccess, current_memory()};
}

// Returns the number of elements of an array; 0 if its memory is allocated separately (sparse, deferred).
std::size_t texels(std::size_t width, std::size_t height, std::size_t depth, unsigned flags);
std::size_t texels_of_levels(std::size_t width, std::size_t height, std::size_t depth, unsigned levels,
                             unsigned flags);

// Calls the real function and records the block. If the call succeeds, `describe()` returns the Block. A Block
// without an address is not recorded.
template <class Call, class Describe>
int gives(Kind kind, std::size_t asked, Call call, Describe describe, bool certain = false) {
  const DeviceCall device_call;
  const int result = call();
  if (!record::active()) return result;
  if (result != 0) {
    if (device_call.mine(false)) refused(result, kind, asked);
  } else if (device_call.mine(certain)) {
    if (const HookedBlock block = describe(); block.address != 0)
      record::device_born(block, context_of(block.kind));
  }
  return result;
}

// The most common signature: an output address, a size, and further arguments of the real function.
template <class Out, class... After>
int gives_bytes(Function function, Kind kind, std::size_t n, Out* out, After... after) {
  auto* const call = real<int(Out*, std::size_t, After...)>(function);
  if (call == nullptr) return absent(function);
  return gives(
      kind, n, [&] { return call(out, n, after...); },
      [&] { return HookedBlock{word(*out), n, n, kind, 0, memory_of(kind)}; }, kind == Kind::device && n != 0);
}

template <class... After>
int gives_pinned(Function function, std::size_t n, void** out, After... after) {
  auto* const call = real<int(void**, std::size_t, After...)>(function);
  if (call == nullptr) return absent(function);
  return gives(
      Kind::pinned, n, [&] { return call(out, n, after...); },
      [&] {
        return HookedBlock{word(*out), n, torch_asked(n), Kind::pinned};
      });
}

// Allocates from `pool`; null: the device's own pool. If the stream is being captured, the allocation becomes a
// node of a graph. `caller`: the return address in the program.
template <class Out, class... After>
int gives_async(Function function, const void* caller, std::size_t n, Out* out, void* pool, void* stream,
                After... after) {
  auto* const call = real<int(Out*, std::size_t, After...)>(function);
  if (call == nullptr) return absent(function);
  const int result = gives(
      Kind::device_async, n, [&] { return call(out, n, after...); },
      [&] {
        const std::uint16_t flags = is_torch_allocator(caller) ? format::kTensor : std::uint16_t{0};
        if (!is_capturing(stream))
          return HookedBlock{word(*out), n, n, Kind::device_async, flags, current_memory()};
        graph_has_nodes();
        return uncounted(word(*out), n, Kind::device_async);
      });
  if (result == 0 && outermost()) look_at_pools(pool);
  return result;
}

inline int registers(Function function, void* address, std::size_t n, unsigned flags) {
  auto* const call = real<int(void*, std::size_t, unsigned)>(function);
  if (call == nullptr) return absent(function);
  return gives(
      Kind::registered, n, [&] { return call(address, n, flags); },
      [&] {
        return HookedBlock{word(address), n, n, Kind::registered};
      });
}

// Calls the real function, and `died(stamp)` if it succeeds.
template <class Call, class Died>
int takes(Call call, Died died) {
  const DeviceCall device_call;
  const Stamp death = record::active() ? record::draw_stamp() : 0;
  const int result = call();
  if (death != 0 && result == 0 && device_call.mine(false)) died(death);
  return result;
}

template <class In, class... After>
int takes_address(Function function, Kind kind, In address, After... after) {
  auto* const call = real<int(In, After...)>(function);
  if (call == nullptr) return absent(function);
  if (address == In{}) return call(address, after...);
  return takes([&] { return call(address, after...); },
               [&](Stamp death) { record::device_died(word(address), kind, death); });
}

template <class In, class... After>
int takes_maybe_of_pool(Function function, In address, After... after) {
  const int result = takes_address(function, Kind::device, address, after...);
  if (result == 0 && outermost()) look_at_known_pools();
  return result;
}

// Wraps a call that neither allocates nor frees by itself.
template <class Call>
int inside(Call call) {
  const DeviceCall device_call;
  return call();
}

inline int trims_pool(Function function, void* pool, std::size_t kept) {
  auto* const call = real<int(void*, std::size_t)>(function);
  if (call == nullptr) return absent(function);
  const int result = inside([&] { return call(pool, kept); });
  if (result == 0 && outermost()) look_at_known_pools();
  return result;
}
inline int destroys_pool(Function function, void* pool) {
  auto* const call = real<int(void*)>(function);
  if (call == nullptr) return absent(function);
  const int result = inside([&] { return call(pool); });
  if (result == 0 && outermost()) pool_is_gone(pool);
  return result;
}

// Opens memory of another process.
template <class Out, class... After>
int opens(Function function, Out* out, After... after) {
  auto* const call = real<int(Out*, After...)>(function);
  if (call == nullptr) return absent(function);
  return gives(
      Kind::device, 1, [&] { return call(out, after...); },
      [&] { return uncounted(word(*out), bytes_at(word(*out)), Kind::device); });
}
// Imports external memory: of a graphics API, or behind a file descriptor of unknown origin.
inline int imports(Function function, void** out, const ExternalMemory* wanted) {
  auto* const call = real<int(void**, const ExternalMemory*)>(function);
  if (call == nullptr) return absent(function);
  return gives(
      Kind::device, 1, [&] { return call(out, wanted); },
      [&] { return uncounted(word(*out), wanted->bytes, Kind::device); });
}

// Adds an allocation node. The node has addresses; the graph gets its memory at the first launch.
inline int adds_node(Function function, void** node, void* graph, void* const* before, std::size_t count,
                     AllocationNode* wanted) {
  auto* const call = real<int(void**, void*, void* const*, std::size_t, AllocationNode*)>(function);
  if (call == nullptr) return absent(function);
  return gives(
      Kind::device_async, wanted != nullptr ? wanted->bytes : 0,
      [&] { return call(node, graph, before, count, wanted); },
      [&] {
        graph_has_nodes();
        return uncounted(wanted->address, wanted->bytes, Kind::device_async);
      });
}
template <class In>
int frees_node(Function function, void** node, void* graph, void* const* before, std::size_t count,
               In address) {
  auto* const call = real<int(void**, void*, void* const*, std::size_t, In)>(function);
  if (call == nullptr) return absent(function);
  return takes([&] { return call(node, graph, before, count, address); },
               [&](Stamp death) { record::device_died(word(address), Kind::device_async, death); });
}
template <class... A>
int moves_graph_memory(Function function, A... arguments) {
  auto* const call = real<int(A...)>(function);
  if (call == nullptr) return absent(function);
  const DeviceCall device_call;
  const int result = call(arguments...);
  if (result == 0 && record::active() && device_call.mine(false)) look_at_graph_memory();
  return result;
}

} // namespace memtrace::hooks::cuda
