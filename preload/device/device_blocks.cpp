// Purpose: remembers device blocks by address, because a free gives neither their size nor their device.
// Runs: inside the calls of CUDA's runtime and driver.
#include "preload/device/device_blocks.h"

#include <cstring>

#include "preload/bounded/fork_locks.h"
#include "preload/device/device_call_scope.h"
#include "preload/device/device_levels.h"
#include "preload/device/nccl_blocks.h"
#include "preload/format/process_events.h"
#include "preload/os/mappings.h"
#include "preload/record/interner.h"
#include "preload/record/live_levels.h"
#include "preload/state/arming.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::record {

using format::Kind;
using format::Stamp;

namespace {

// The type of a key. A registered block may have the address of an allocated one, and a mapping that of a
// reservation.
enum class Is : std::uint8_t { nothing, allocated, registered, handle, mapping };

struct DeviceBlock {
  std::uint64_t key;
  std::uint64_t bytes;
  std::uint64_t handle; // for a mapping, its handle; for a block, its context
  std::uint16_t taken;  // for a handle: releases that are still due
  std::uint16_t mapped; // for a handle: its mappings
  std::uint8_t flags;
  std::uint8_t memory;
  Kind kind;
  Is is;
};
static_assert(sizeof(DeviceBlock) == 32 && format::kNoAccess < 256);

constexpr std::uint32_t kFirst = 1u << 10;
constexpr std::uint32_t kMost = 1u << 20; // at most half of them used: 32 MiB

// Linear probing, at most half full, no tombstones.
class Entries {
 public:
  DeviceBlock* find(Is is, std::uint64_t key) {
    if (at_ == nullptr) return nullptr;
    DeviceBlock& entry = at_[search(is, key)];
    return entry.is == Is::nothing ? nullptr : &entry;
  }
  // Returns the entry, found or new. Null: no room.
  DeviceBlock* add(Is is, std::uint64_t key) {
    if (2 * (used_ + 1) > slots_ && !grow()) return nullptr;
    DeviceBlock& entry = at_[search(is, key)];
    if (entry.is == Is::nothing) {
      entry.is = is;
      entry.key = key;
      ++used_;
    }
    return &entry;
  }
  std::uint64_t bytes() const { return slots_ * sizeof(DeviceBlock); }
  void forget() { *this = {}; } // its memory stays mapped: another thread was changing it
  // Returns the next block of that context from slot `from` on; null: none.
  DeviceBlock* of_context(std::uint64_t context, std::uint32_t* from) {
    for (; *from < slots_; ++*from) {
      DeviceBlock& entry = at_[*from];
      if (entry.handle == context && (entry.is == Is::allocated || entry.is == Is::registered)) return &entry;
    }
    return nullptr;
  }
  void erase(DeviceBlock* entry) {
    auto gap = static_cast<std::uint32_t>(entry - at_);
    for (std::uint32_t at = next(gap); at_[at].is != Is::nothing; at = next(at)) {
      if (((at - home(at_[at].is, at_[at].key)) & mask()) < ((at - gap) & mask())) continue;
      at_[gap] = at_[at];
      gap = at;
    }
    at_[gap] = {};
    --used_;
  }

 private:
  std::uint32_t mask() const { return slots_ - 1; }
  std::uint32_t next(std::uint32_t at) const { return (at + 1) & mask(); }
  std::uint32_t home(Is is, std::uint64_t key) const {
    return static_cast<std::uint32_t>(((key >> 4) + static_cast<std::uint8_t>(is)) * 0x9E3779B97F4A7C15u >>
                                      32) &
           mask();
  }
  std::uint32_t search(Is is, std::uint64_t key) const {
    std::uint32_t at = home(is, key);
    while (at_[at].is != Is::nothing && (at_[at].key != key || at_[at].is != is)) at = next(at);
    return at;
  }
  bool grow() {
    const std::uint32_t wanted = slots_ == 0 ? kFirst : 2 * slots_;
    auto* const larger =
        wanted > kMost ? nullptr : static_cast<DeviceBlock*>(os::map_private(wanted * sizeof(DeviceBlock)));
    if (larger == nullptr) return false;
    DeviceBlock* const before = at_;
    const std::uint32_t slots = slots_;
    at_ = larger;
    slots_ = wanted;
    for (std::uint32_t i = 0; i < slots; ++i)
      if (before[i].is != Is::nothing) at_[search(before[i].is, before[i].key)] = before[i];
    if (before != nullptr) os::unmap(before, slots * sizeof(DeviceBlock));
    return true;
  }

  DeviceBlock* at_ = nullptr;
  std::uint32_t slots_ = 0; // a power of two
  std::uint32_t used_ = 0;
};

constinit Entries entries;
constinit SpinLock entries_lock;
void forget_entries() {
  entries.forget();
}
REGISTER_LOCK(entries_lock, &forget_entries);
constinit bool announced[kMemories] = {};
constinit std::int64_t pinned_blocks = 0;

void count_pinned(Kind kind, std::int64_t change) {
  if (kind == Kind::pinned || kind == Kind::registered)
    __atomic_add_fetch(&pinned_blocks, change, __ATOMIC_RELAXED);
}

Is table_of(Kind kind) {
  return kind == Kind::registered ? Is::registered : Is::allocated;
}

// Records that a device is in use, and which source counts its memory, before its first block. The caller is
// inside a hook, with its guard held.
void announce(unsigned memory) {
  if (memory == 0 || memory >= kMemories || announced[memory] || is_armed()) return;
  announced[memory] = true;
  const char* const source = cupti_owns_devices() ? "cupti" : "hooks";
  format::DeviceEvent device{};
  device.source = intern_text(source, std::strlen(source));
  format::RingRecord record = record_of(device);
  record.flags = static_cast<std::uint16_t>(memory << format::kMemoryShift);
  emit(record);
}

bool remember(Is is, const HookedBlock& block, std::uint64_t context = 0) {
  const Locked locked(entries_lock);
  DeviceBlock* const entry = locked ? entries.add(is, block.address) : nullptr;
  if (entry == nullptr) {
    lost(format::Loss::memory);
    return false;
  }
  *entry = {block.address,
            block.given,
            context,
            1,
            0,
            static_cast<std::uint8_t>(block.flags),
            static_cast<std::uint8_t>(block.memory),
            block.kind,
            is};
  return true;
}

void say_born(const Recording& here, const HookedBlock& block) {
  announce(block.memory);
  count_pinned(block.kind, 1);
  if ((block.flags & format::kNoAccess) == 0)
    change_device_level(block.memory, static_cast<std::int64_t>(block.given));
  here.born(block);
  label_nccl_block(here, block);
}

void say_died(const Recording& here, const DeviceBlock& gone, Stamp death) {
  count_pinned(gone.kind, -1);
  nccl_block_died(gone.key, gone.memory);
  if ((gone.flags & format::kNoAccess) == 0)
    change_device_level(gone.memory, -static_cast<std::int64_t>(gone.bytes));
  here.died({gone.key, gone.bytes, 0, gone.kind, gone.flags, gone.memory}, death);
}

// Removes the entry if it has neither releases due nor mappings. True: it is gone, and `*gone` is its copy.
bool drop_block(DeviceBlock* entry, DeviceBlock* gone) {
  if (entry->taken != 0 || entry->mapped != 0) return false;
  *gone = *entry;
  entries.erase(entry);
  return true;
}

} // namespace

bool pinned_memory_is_held() {
  return __atomic_load_n(&pinned_blocks, __ATOMIC_RELAXED) > 0;
}

void device_born(const HookedBlock& block, std::uint64_t context) {
  const Recording here;
  if (here && remember(table_of(block.kind), block, context)) say_born(here, block);
}

void context_born(std::uint64_t context, int device) {
  if (device < 0 || device + 1 >= static_cast<int>(kMemories)) return;
  const HookedBlock block{context, 0, 0, Kind::context, format::kNoAccess, static_cast<unsigned>(device) + 1};
  const Recording here;
  if (here && remember(Is::allocated, block, context)) here.born(block);
}

void device_died(std::uint64_t address, Kind kind, Stamp death) {
  const Recording here;
  if (!here) return;
  DeviceBlock gone{};
  {
    const Locked locked(entries_lock);
    DeviceBlock* const entry = locked ? entries.find(table_of(kind), address) : nullptr;
    if (entry == nullptr) return;
    gone = *entry;
    entries.erase(entry);
  }
  say_died(here, gone, death);
}

void handle_born(const HookedBlock& block) {
  const Recording here;
  if (!here) return;
  {
    const Locked locked(entries_lock);
    DeviceBlock* const known = locked ? entries.find(Is::handle, block.address) : nullptr;
    if (known != nullptr) {
      ++known->taken;
      return;
    }
  }
  if (remember(Is::handle, block)) say_born(here, block);
}

void handle_taken(std::uint64_t handle) {
  const Recording here;
  const Locked locked(entries_lock);
  DeviceBlock* const entry = here && locked ? entries.find(Is::handle, handle) : nullptr;
  if (entry != nullptr) ++entry->taken;
}

void handle_released(std::uint64_t handle, Stamp death) {
  const Recording here;
  if (!here) return;
  DeviceBlock gone{};
  {
    const Locked locked(entries_lock);
    DeviceBlock* const entry = locked ? entries.find(Is::handle, handle) : nullptr;
    if (entry == nullptr || entry->taken == 0) return;
    --entry->taken;
    if (!drop_block(entry, &gone)) return;
  }
  say_died(here, gone, death);
}

void handle_mapped(std::uint64_t address, std::uint64_t bytes, std::uint64_t handle) {
  const Recording here;
  if (!here) return;
  const Locked locked(entries_lock);
  if (!locked || entries.find(Is::handle, handle) == nullptr) return;
  DeviceBlock* const mapping = entries.add(Is::mapping, address);
  if (mapping == nullptr) return lost(format::Loss::memory);
  mapping->bytes = bytes;
  mapping->handle = handle;
  ++entries.find(Is::handle, handle)->mapped; // searched again, because the table may have grown
}

void handle_unmapped(std::uint64_t address, std::uint64_t bytes, Stamp death) {
  const Recording here;
  if (!here) return;
  for (std::uint64_t at = address; at - address < bytes;) {
    DeviceBlock gone{};
    {
      const Locked locked(entries_lock);
      DeviceBlock* const mapping = locked ? entries.find(Is::mapping, at) : nullptr;
      if (mapping == nullptr || mapping->bytes == 0) return;
      at += mapping->bytes;
      const std::uint64_t handle = mapping->handle;
      entries.erase(mapping);
      DeviceBlock* const entry = entries.find(Is::handle, handle);
      if (entry == nullptr || entry->mapped == 0) continue;
      --entry->mapped;
      if (!drop_block(entry, &gone)) continue;
    }
    say_died(here, gone, death);
  }
}

// Takes few blocks at a time from the table under its lock. An emptied slot is tested again, because other
// entries move up. Another thread's free may move an entry behind the current slot, so the search is repeated
// until it finds none.
void context_died(std::uint64_t context, Stamp death) {
  const Recording here;
  if (!here || context == 0) return;
  constexpr int kAtOnce = 32;
  DeviceBlock gone[kAtOnce];
  for (bool any = true; any;) {
    any = false;
    for (std::uint32_t at = 0;;) {
      int count = 0;
      {
        const Locked locked(entries_lock);
        if (!locked) return lost(format::Loss::memory);
        while (count < kAtOnce) {
          DeviceBlock* const entry = entries.of_context(context, &at);
          if (entry == nullptr) break;
          gone[count++] = *entry;
          entries.erase(entry);
        }
      }
      for (int i = 0; i < count; ++i) say_died(here, gone[i], death);
      any = any || count != 0;
      if (count < kAtOnce) break;
    }
  }
}

void announce_held_devices() {
  for (unsigned memory = 1; memory < kMemories; ++memory)
    if (level_of(memory) > 0) announce(memory);
}

void device_memory_forked() {
  for (bool& one : announced) one = false; // this process's trace has no such record yet
}

std::uint64_t device_memory_bytes() {
  return entries.bytes();
}

} // namespace memtrace::record
