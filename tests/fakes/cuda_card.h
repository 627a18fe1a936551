// Purpose: the cards: their contexts, what was given from them, and to whom.
// Shared by the parts of the fake libcuda.so.1.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <mutex>

#include "tests/fakes/driver.h"

namespace fake::driver {

inline constexpr int kSuccess = 0, kInvalidValue = 1, kNotInitialized = 3, kInvalidDevice = 101,
                     kInvalidContext = 201, kNotSupported = 801;
inline constexpr size_t kGranule = size_t{2} << 20;
inline constexpr int kMostDevices = 8;

// What the environment asks for: FAKE_CUDA_CARDS (2), FAKE_CUDA_CARD_MIB (80 GiB), FAKE_CUDA_CONTEXT_MIB (500).
struct Settings {
  int devices;
  size_t card;
  size_t context; // what one takes of its card
};
const Settings& settings();

// A context's handle: its number, and in the lowest byte its device and 1. Number 0 is the primary one.
using Context = std::uintptr_t;
constexpr int device_of(Context context) {
  return static_cast<int>(context & 0xFF) - 1;
}
constexpr Context primary_of(int device) {
  return static_cast<Context>(device) + 1;
}

struct Block {
  Address address;
  size_t bytes;
  int device;  // -1: host
  int handles; // of physical memory: releases and mappings to come
  void* pool;
  Context context; // that it goes with; 0: none, it is the device's
};
struct Pool {
  int device;
  size_t used, reserved, most_used, most_reserved;
};

extern std::recursive_mutex mutex;
extern Block blocks[1 << 14];
extern Pool pools[16]; // the first ones are the devices' own
extern size_t used[kMostDevices];
extern size_t graph_wanted, graph_reserved; // of device 0
extern bool initialized;
extern int capturing; // all streams
extern Address next_handle;

using Lock = std::lock_guard<std::recursive_mutex>;

inline Block* find(Block* table, size_t count, Address address) {
  for (size_t i = 0; i < count; ++i)
    if (table[i].address == address && address != 0) return &table[i];
  return nullptr;
}
inline Block* find(Address address) {
  return find(blocks, std::size(blocks), address);
}
inline Block* place(Block* table, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (table[i].address == 0) return &table[i];
  std::abort();
}

// The memory or the mapping that has this address in it.
const Block* containing(Address address);

// The current context of this thread; 0: none, or it was destroyed.
Context current();
inline int current_device() {
  return device_of(current());
}

Address pages(size_t bytes, bool host);
void return_pages(Address at, size_t bytes);
bool on_card(Address address);
// Between cards and host memory, in either direction.
void copy(Address to, Address from, size_t bytes);
void fill(Address to, const void* pattern, size_t pattern_bytes, size_t bytes);
// `device` -1: host memory. From a pool, or with an address of its own, it belongs to no context.
int give(Address* out, size_t bytes, int device, Address at = 0, void* pool = nullptr);
void end(Block* block);
int take(Address address);
int from_pool(Address* out, size_t bytes, void* pool);
int to_pool(Address address);

#define RUNTIME_FUNCTION(name, parameters, arguments)
#define DRIVER_FUNCTION(name, parameters, arguments) int name parameters;
#include "tests/fakes/cuda_functions.def"

} // namespace fake::driver
