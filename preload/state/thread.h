// Purpose: the recorder's data of one thread, and the few words that it keeps in TLS.
// Runs: inside the program's malloc.
#pragma once

#include "preload/format/file_headers.h"
#include "preload/stack/native_unwinder.h"
#include "preload/stack/python_frames.h"

namespace memtrace::record {

inline constexpr std::size_t kMaxPhases = 32; // open at once on a thread; deeper phases are only counted

// Room for one stack trace. It is not on the program's stack, which may be small. Deeper Python stacks lose
// their outermost frames. With 64 frames, `import transformers` had 200,000 different callers, because the
// window of frames slides.
inline constexpr std::size_t kMaxPython = 192;
inline constexpr std::size_t kMaxNative =
    48; // from malloc to the Python call that reached PyTorch: 25 to 40 frames

// The frames that this thread interned last, outermost first, with their nodes. The frames that the next new
// stack shares with them need no second look-up. Ids stay valid forever, so this is never cleared.
template <class Frame, std::size_t Capacity>
struct Trail {
  format::StackId base; // the node below the outermost frame
  std::uint32_t count;
  Frame frames[Capacity];
  format::StackId ids[Capacity];
};
struct Scratch {
  PythonFrame python[kMaxPython];
  std::uint64_t native[kMaxNative];
  ModuleCalls calls;
  Trail<PythonFrame, kMaxPython> python_trail;
  Trail<std::uint64_t, kMaxNative> native_trail;
};

// The records of a slot. `size` is a power of two.
struct Ring {
  format::RingRecord* records;
  std::uint32_t size;
};

// The bytes until small blocks are checked next. `armed` is the start value of Local::births_left.
struct Pace {
  std::uint64_t random; // state of the random generator
  std::int64_t until_sample;
  std::int64_t until_tick;
  std::uint64_t look_at_allocated; // the thread is checked before its counter passes this
  std::uint64_t look_at_freed;
  std::int64_t armed;
};

// The thread's part of the levels, which only the thread writes (record/live_levels.h).
struct LevelParts {
  std::int64_t live;    // bytes of its births minus bytes of its deaths, in host memory
  std::int64_t told;    // part of `live` that the quick level of the process contains
  std::int64_t flowed;  // bytes of its births, in all memories
  std::int64_t tensors; // bytes of its births minus bytes of its deaths of tensors, as given
};

// In private memory, and never freed. A new thread takes it over when its owner has ended. Counters of two
// threads share no cache line.
struct alignas(64) Thread {
  std::uint32_t index;
  std::uint32_t tid;
  std::uint64_t pointer;    // glibc's thread pointer, at the top of its stack
  std::uint64_t sequence;   // of its next record in its ring
  std::uint64_t room_until; // records below this one fit, and the ring is less than half full or cannot grow
  format::RingSlot* slot;   // null: none yet
  Ring records;             // its ring when the thread last wrote
  std::uint32_t ring;       // RingSlot.ring at that time
  std::uint32_t slot_index;
  std::uint32_t ring_file;       // the number of the ring file of `slot`
  std::uint64_t uncounted_bound; // part of RingFileHeader.uncounted_bound in the file `uncounted_file`
  std::uint32_t uncounted_file;
  format::Stamp drew; // its last stamp when it emitted a record
  LevelParts levels;
  format::SmallTotals own;       // the counts of small blocks before there is a ring
  format::SmallTotals published; // the flows that its records contain so far
  format::SmallTotals folded;    // flows of records that the startup log removed; they are published again
  format::TextId phases[kMaxPhases];
  std::uint32_t automatic; // bit i: memtrace itself began phases[i]
  std::uint32_t depth;
  Pace pace;
  UnwindMemory walk; // of its native stack
  Scratch scratch;
};

// `local.small` points here until the recorder has seen the thread. Nothing is counted here: the countdown of
// such a thread has run out, so its first small block is checked before it is counted.
extern constinit format::SmallTotals uncounted;

// All data that memtrace keeps in TLS. It has no destructor and no lazy allocation. It is initial-exec, and
// small, because static TLS is scarce (pytorch#2575).
struct Local {
  format::SmallTotals* small = &uncounted; // &thread->own, or in the ring's slot
  std::int64_t births_left;                // bytes of small births until the next check, for a tick or a sample
  std::int64_t deaths_left;                // bytes of small deaths until a tick
  std::int64_t deaths_held;                // deaths_left, while tensor_freed is set
  std::size_t tensor_bytes;   // not 0: the next block is a tensor's, and this many bytes were asked
  std::uint64_t moving_from;  // inside another allocator's realloc: the block that it may move
  std::size_t moving;         // and how many bytes of it may move
  std::size_t storage_bytes;  // bytes that PyTorch computed last for a storage that it has not allocated yet
  std::uint64_t node_made;    // number of the node that this thread made last, + 1; 0: none without a stack
  PythonPlace node_made_at;   // where Python was at that time
  std::uint64_t node_to_come; // not 0: the next tensor is of the node with this key (record/autograd_nodes.h)
  std::uint64_t node;         // key of the node whose evaluation began last; 0: none
  std::uint64_t node_return;  // return address of that evaluation
  const std::uint64_t* node_slot; // where that return address is on the stack
  Thread* thread;
  std::uint32_t device_calls;  // depth of nested hooks of CUDA calls on this thread
  std::uint32_t device_events; // number of events that CUPTI reported on this thread
  std::uint8_t busy;           // inside the recorder
  std::uint8_t inside;         // inside a real allocator call: mappings it makes are not the program's
  bool tensor_freed;           // the next block freed is a tensor's: see mark_tensor_free()
  bool filtered_child; // a vfork child, which shares this memory, may make only the calls that its filter lists
  bool holds_definitions;   // across a fork: threads may fork at the same time, each in its own handlers
  std::uint64_t fork_stamp; // drawn before the fork
};
extern thread_local constinit Local local __attribute__((tls_model("initial-exec")));

inline void add_to(std::uint64_t& counter, std::uint64_t value) {
  // One instruction, so that a signal handler that allocates in between does not lose its count.
  asm("addq %1, %0" : "+m"(counter) : "er"(value) : "cc");
}

// Subtracts `given`. True if nothing is left.
inline bool take_from(std::int64_t& left, std::size_t given) {
  bool out;
  asm("subq %2, %0" : "+m"(left), "=@ccle"(out) : "er"(given));
  return out;
}

// Marks the next block that this thread frees as a tensor's. The countdown seems to have run out, so that the
// hook of free, which checks it anyway, needs no check of the mark.
inline void mark_tensor_free() {
  local.tensor_freed = true;
  local.deaths_held = local.deaths_left;
  local.deaths_left = 0;
}
// Ends the mark. Returns false if there is none.
inline bool take_tensor_free() {
  if (!local.tensor_freed) return false;
  local.deaths_left = local.deaths_held;
  local.tensor_freed = false;
  return true;
}

inline bool is_empty(const format::SmallTotals& flows) {
  return (flows.births | flows.deaths) == 0;
}
// True if all words are 0. Another thread changes the words one by one: bytes may be there before their blocks.
inline bool is_zero(const format::SmallTotals& flows) {
  return (flows.allocated | flows.freed | flows.births | flows.deaths) == 0;
}
inline void add(format::SmallTotals& sum, const format::SmallTotals& more) {
  sum.allocated += more.allocated;
  sum.freed += more.freed;
  sum.births += more.births;
  sum.deaths += more.deaths;
}

// Returns the change of the host's level by these flows.
inline std::int64_t change_of(const format::SmallTotals& flows) {
  return static_cast<std::int64_t>(flows.allocated - flows.freed);
}

// Returns the flows of a thread that no record contains yet.
inline format::SmallTotals unpublished(const Thread& thread) {
  const format::SmallTotals& now = thread.slot != nullptr ? thread.slot->small : thread.own;
  return {now.allocated - thread.published.allocated, now.freed - thread.published.freed,
          now.births - thread.published.births, now.deaths - thread.published.deaths};
}
// True if unpublished() is not empty.
inline bool has_unpublished(const Thread& thread) {
  const format::SmallTotals& now = thread.slot != nullptr ? thread.slot->small : thread.own;
  return now.births != thread.published.births || now.deaths != thread.published.deaths;
}
// True if this thread has flows that it has yet to publish.
inline bool has_left_over(const Thread& thread) {
  return !is_empty(unpublished(thread)) || !is_zero(thread.folded);
}
inline void set_published(Thread& thread, const format::SmallTotals& added) {
  add(thread.published, added);
}
// Returns the folded flows and sets them to 0. They were in a record, so they are in `published`. Another
// thread that folds the startup log may add to them at the same time, word by word.
inline format::SmallTotals take_folded(Thread& thread) {
  format::SmallTotals& from = thread.folded;
  return {__atomic_exchange_n(&from.allocated, 0, __ATOMIC_RELAXED),
          __atomic_exchange_n(&from.freed, 0, __ATOMIC_RELAXED),
          __atomic_exchange_n(&from.births, 0, __ATOMIC_RELAXED),
          __atomic_exchange_n(&from.deaths, 0, __ATOMIC_RELAXED)};
}
inline void give_folded(Thread& thread, const format::SmallTotals& more) {
  format::SmallTotals& to = thread.folded;
  __atomic_fetch_add(&to.allocated, more.allocated, __ATOMIC_RELAXED);
  __atomic_fetch_add(&to.freed, more.freed, __ATOMIC_RELAXED);
  __atomic_fetch_add(&to.births, more.births, __ATOMIC_RELAXED);
  __atomic_fetch_add(&to.deaths, more.deaths, __ATOMIC_RELAXED);
}

// Set when the calling thread, which is `thread`, is checked next: after `bytes` more of small births, or of
// small deaths.
inline void set_look_at_births(Thread& thread, std::int64_t bytes) {
  __atomic_store_n(&thread.pace.look_at_allocated, local.small->allocated + static_cast<std::uint64_t>(bytes),
                   __ATOMIC_RELAXED);
}
inline void set_look_at_deaths(Thread& thread, std::int64_t bytes) {
  __atomic_store_n(&thread.pace.look_at_freed, local.small->freed + static_cast<std::uint64_t>(bytes),
                   __ATOMIC_RELAXED);
}

// The most small flows of one direction between two records of a thread.
inline constexpr std::int64_t kTickBytes = 256 * 1024;
// Returns the most small flows of one direction between two checks of this thread.
std::int64_t tick_bytes(const Thread& thread);
// Sets whether threads without a slot are checked more often. This is so in a forked child that is large enough
// to record but too young, until it records. Processes that are too small may stay so, and checks as often
// would cost too much.
void look_often_without_slot(bool often);

} // namespace memtrace::record
