// Purpose: the process group of PyTorch that a thread communicates in, and the name of each group.
// Runs: inside CUDA's calls and pthread_create; the names are set under the GIL.
#include "preload/record/process_groups.h"

#include "preload/bounded/fork_locks.h"
#include "preload/os/mappings.h"
#include "preload/record/thread_entry.h"
#include "preload/stack/python_frames.h"

namespace memtrace::record {

using format::TextId;

namespace {

// Read without a lock. A slot is never emptied.
struct GroupCall {
  const void* code; // null: a free slot
  int place;
};
constexpr std::size_t kCalls = 256; // PyTorch 2.13 has 75 such functions
constexpr std::size_t kMostCalls = kCalls / 2;
constinit GroupCall calls[kCalls] = {};
constinit std::size_t call_count = 0;

struct GroupName {
  GroupKey group;
  TextId name;
};
// A thread may end, and another may get its pthread_t and ask before its maker has set its group. So the first
// thread that asks is remembered by its number.
struct ThreadGroup {
  std::uint64_t thread;
  GroupKey group;
  std::uint32_t tid; // 0: it has not asked yet
};
// Under the lock. A rank is in some ten groups, and each has an object and a name.
template <class Item, std::size_t Capacity>
struct List {
  Item items[Capacity];
  std::size_t count;

  bool add(const Item& item) {
    if (count == Capacity) return false;
    items[count++] = item;
    return true;
  }
  void remove(std::size_t at) { items[at] = items[--count]; }
};
constinit List<GroupName, 256> names{};
constinit List<ThreadGroup, 256> threads{};
constinit List<GroupBlock, 1024> waiting{};
constinit bool has_new = false; // a block came to `waiting` since the groups were named last

constinit SpinLock groups_lock;
void forget_all() {
  names.count = threads.count = waiting.count = 0;
}
REGISTER_LOCK(groups_lock, &forget_all);

std::size_t slot_of(const void* code) {
  return static_cast<std::size_t>((reinterpret_cast<std::uint64_t>(code) >> 4) * 0x9E3779B97F4A7C15u >> 56);
}
static_assert(kCalls == 1 << 8);

int place_in(const void* code) {
  for (std::size_t at = slot_of(code);; at = (at + 1) % kCalls) {
    const void* const known = __atomic_load_n(&calls[at].code, __ATOMIC_ACQUIRE);
    if (known == code) return calls[at].place;
    if (known == nullptr) return -1;
  }
}

TextId find_name(GroupKey group) {
  for (std::size_t i = 0; i < names.count; ++i)
    if (names.items[i].group == group) return names.items[i].name;
  return TextId{0};
}

} // namespace

void add_group_call(const void* code, int place) {
  if (code == nullptr || place < 0 || call_count == kMostCalls || place_in(code) >= 0) return;
  std::size_t at = slot_of(code);
  while (calls[at].code != nullptr) at = (at + 1) % kCalls;
  calls[at].place = place;
  __atomic_store_n(&calls[at].code, code, __ATOMIC_RELEASE);
  __atomic_store_n(&call_count, call_count + 1, __ATOMIC_RELAXED);
}

bool groups_are_used() {
  return __atomic_load_n(&call_count, __ATOMIC_RELAXED) != 0;
}

void forget_groups() {
  const Locked locked(groups_lock);
  if (!locked) return;
  names.count = 0;
  __atomic_store_n(&has_new, false, __ATOMIC_RELAXED);
}

void name_group(GroupKey group, TextId name) {
  const Locked locked(groups_lock);
  if (locked && group != 0 && name != TextId{0}) names.add({group, name});
}

TextId name_of_group(GroupKey group) {
  const Locked locked(groups_lock);
  return locked ? find_name(group) : TextId{0};
}

GroupKey group_of_this_thread() {
  if (!groups_are_used()) return 0;
  if (python_has_this_thread()) return python_local(&place_in);
  const Thread* const thread = this_thread();
  const Locked locked(groups_lock);
  if (thread == nullptr || !locked) return 0;
  for (std::size_t i = 0; i < threads.count; ++i) {
    ThreadGroup& known = threads.items[i];
    if (known.thread != thread->pointer) continue;
    if (known.tid == 0) known.tid = thread->tid;
    return known.tid == thread->tid ? known.group : 0;
  }
  return 0;
}

// A thread may free the object that has its pthread_t before its maker returns. An ordinary read of it crashed
// a program with 20,000 such threads. So the kernel copies it, and only for threads that a collective makes.
void thread_was_made(const void* handle) {
  const GroupKey group = group_of_this_thread();
  if (group == 0) return;
  std::uint64_t made = 0;
  const os::Piece piece{handle, sizeof made};
  if (os::copy_memory(&made, &piece, 1) == sizeof made) set_group_of_thread(made, group);
}

// If the table is full, the thread has none.
void set_group_of_thread(std::uint64_t made, GroupKey group) {
  const Locked locked(groups_lock);
  if (!locked) return;
  for (std::size_t i = 0; i < threads.count; ++i)
    if (threads.items[i].thread == made) {
      threads.remove(i);
      break;
    }
  if (group != 0) threads.add({made, group, 0});
}

void keep_group_block(const GroupBlock& block) {
  const Locked locked(groups_lock);
  if (locked && waiting.add(block)) __atomic_store_n(&has_new, true, __ATOMIC_RELAXED);
}

bool has_new_group_blocks() {
  return __atomic_load_n(&has_new, __ATOMIC_RELAXED);
}

void forget_group_block(std::uint64_t address, unsigned memory) {
  if (__atomic_load_n(&waiting.count, __ATOMIC_RELAXED) == 0) return;
  const Locked locked(groups_lock);
  if (!locked) return;
  for (std::size_t i = 0; i < waiting.count; ++i)
    if (waiting.items[i].address == address && waiting.items[i].memory == memory) return waiting.remove(i);
}

bool take_named_block(GroupBlock* out) {
  const Locked locked(groups_lock);
  if (!locked) return false;
  for (std::size_t i = 0; i < waiting.count;) {
    const TextId name = find_name(waiting.items[i].group);
    if (name == TextId{0}) {
      ++i;
      continue;
    }
    *out = waiting.items[i];
    waiting.remove(i);
    if (out->name == name) continue;
    out->name = name;
    return true;
  }
  return false;
}

} // namespace memtrace::record
