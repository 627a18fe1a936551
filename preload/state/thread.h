// Purpose: what the recorder knows of one thread, and the few words it keeps in TLS.
// Runs: inside the program's malloc.
#pragma once

#include "preload/format/file_headers.h"
#include "preload/stack/native_unwinder.h"
#include "preload/stack/python_frames.h"

namespace memtrace::record {

inline constexpr std::size_t kMaxPhases = 32; // open at once on a thread; deeper ones are counted, not named

// Room for one stack: not on the program's stack, which may be small. Deeper Python stacks lose their outermost
// frames; at 64 the sliding window made 200,000 different callers out of `import transformers`.
inline constexpr std::size_t kMaxPython = 192;
inline constexpr std::size_t kMaxNative =
    48; // from malloc to the Python call that reached PyTorch: 25 to 40 frames

// The frames that this thread interned last, outermost first, with their nodes: what the next new stack has in
// common with them need not be looked up again. Ids stay valid for good, so this is never cleared.
template <class Frame, std::size_t Capacity>
struct Trail {
  format::StackId base; // the node below the outermost
  std::uint32_t count;
  Frame frames[Capacity];
  format::StackId ids[Capacity];
};
struct Scratch {
  PythonFrame python[kMaxPython];
  std::uint64_t native[kMaxNative];
  Trail<PythonFrame, kMaxPython> python_trail;
  Trail<std::uint64_t, kMaxNative> native_trail;
};

// Where the records of a slot are. `size` is a power of two.
struct Ring {
  format::RingRecord* records;
  std::uint32_t size;
};

// When small blocks are next looked at. Bytes; `armed` is what Local::births_left started from.
struct Pace {
  std::uint64_t random; // state of the generator
  std::int64_t until_sample;
  std::int64_t until_tick;
  std::uint64_t look_at_allocated; // the thread is looked at before its counter passes this
  std::uint64_t look_at_freed;
  std::int64_t armed;
};

// Private memory, never freed, taken over by a new thread when its owner is gone. Counters of two threads share
// no cache line.
struct alignas(64) Thread {
  std::uint32_t index;
  std::uint32_t tid;
  std::uint64_t pointer;    // glibc's thread pointer, at the top of its stack
  std::uint64_t sequence;   // of its next record in its ring
  std::uint64_t room_until; // records before this one fit, and the ring is less than half full or cannot grow
  format::RingSlot* slot;   // null: none yet
  Ring records;             // its ring when it last wrote
  std::uint32_t ring;       // as RingSlot.ring then
  std::uint32_t slot_index;
  std::uint32_t ring_file;       // which one `slot` is in
  std::uint64_t uncounted_bound; // its part of RingFileHeader.uncounted_bound in the ring file of that number:
  std::uint32_t uncounted_file;
  format::SmallTotals own;       // where small blocks are counted before there is a ring
  format::SmallTotals published; // what its records carry so far
  format::SmallTotals folded;    // what records carried that the cold log folded away: to be published again
  format::TextId phases[kMaxPhases];
  std::uint32_t depth;
  Pace pace;
  Walk walk; // of its stack
  Scratch scratch;
};

// Where `local.small` points until its thread was seen. Nothing is counted there: the countdown of such a
// thread has run out, so its first small block is looked at first.
extern constinit format::SmallTotals uncounted;

// All that memtrace keeps in TLS: no destructor, no lazy allocation, initial-exec (static TLS is scarce:
// pytorch#2575).
struct Local {
  format::SmallTotals* small = &uncounted; // &thread->own, or in the ring's slot
  std::int64_t births_left;  // bytes of small births until the next one is looked at: for a tick, or drawn
  std::int64_t deaths_left;  // of small deaths until a tick
  std::size_t tensor_bytes;  // not 0: the next block is a tensor's, and this much was asked for
  std::uint64_t moving_from; // inside another allocator's realloc: the block that it may move
  std::size_t moving;        // and how much of it
  std::size_t storage_bytes; // what PyTorch computed last for a storage that no allocator was asked for yet
  Thread* thread;
  std::uint32_t device_calls;  // hooks of CUDA's calls that are open on this thread, one inside the other
  std::uint32_t device_events; // that CUPTI reported on this thread
  std::uint8_t busy;           // inside the recorder
  std::uint8_t inside;         // inside a real allocator call: mappings it makes are not the program's
  bool tensor_freed;           // the next block freed is a tensor's
  bool filtered_child;      // a child of vfork, which shares this, may make no system call that it did not list
  bool holds_definitions;   // across a fork: threads may fork at once, each in handlers of its own
  std::uint64_t fork_stamp; // drawn before the fork
};
extern thread_local constinit Local local __attribute__((tls_model("initial-exec")));

inline void add_to(std::uint64_t& counter, std::uint64_t value) {
  // One instruction, so that a signal handler that allocates in between cannot lose its own.
  asm("addq %1, %0" : "+m"(counter) : "er"(value) : "cc");
}

// True: what is left has run out.
inline bool take_from(std::int64_t& left, std::size_t given) {
  bool out;
  asm("subq %2, %0" : "+m"(left), "=@ccle"(out) : "er"(given));
  return out;
}

inline bool is_empty(const format::SmallTotals& flows) {
  return (flows.births | flows.deaths) == 0;
}
// For words that another thread changes one by one: bytes may be there before their blocks.
inline bool is_zero(const format::SmallTotals& flows) {
  return (flows.allocated | flows.freed | flows.births | flows.deaths) == 0;
}
inline void add(format::SmallTotals& sum, const format::SmallTotals& more) {
  sum.allocated += more.allocated;
  sum.freed += more.freed;
  sum.births += more.births;
  sum.deaths += more.deaths;
}

// How these flows change the level of the host.
inline std::int64_t change_of(const format::SmallTotals& flows) {
  return static_cast<std::int64_t>(flows.allocated - flows.freed);
}

// A thread's flows that no record carries yet.
inline format::SmallTotals unpublished(const Thread& thread) {
  const format::SmallTotals& now = thread.slot != nullptr ? thread.slot->small : thread.own;
  return {now.allocated - thread.published.allocated, now.freed - thread.published.freed,
          now.births - thread.published.births, now.deaths - thread.published.deaths};
}
// True if there are flows of this thread that it has yet to publish.
inline bool has_left_over(const Thread& thread) {
  return !is_empty(unpublished(thread)) || !is_zero(thread.folded);
}
inline void set_published(Thread& thread, const format::SmallTotals& added) {
  add(thread.published, added);
}
// Flows that were in a record, so they are in `published`. Another thread that folds the log may add to them at
// the same time, word by word.
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

// When this thread, the calling one, is looked at next: after so many more bytes of small births, of small
// deaths.
inline void set_look_at_births(Thread& thread, std::int64_t bytes) {
  __atomic_store_n(&thread.pace.look_at_allocated, local.small->allocated + static_cast<std::uint64_t>(bytes),
                   __ATOMIC_RELAXED);
}
inline void set_look_at_deaths(Thread& thread, std::int64_t bytes) {
  __atomic_store_n(&thread.pace.look_at_freed, local.small->freed + static_cast<std::uint64_t>(bytes),
                   __ATOMIC_RELAXED);
}

// Small flows of one direction between two records of a thread, at most.
inline constexpr std::int64_t kTickBytes = 256 * 1024;
// Small flows of one direction between two looks at this thread, at most.
std::int64_t tick_bytes(const Thread& thread);
// In a forked child that is large enough to record, and only too young: until it records, threads without a
// slot are looked at more often. Processes that are too small may stay so: looks as often would cost too much.
void look_often_without_slot(bool often);

} // namespace memtrace::record
