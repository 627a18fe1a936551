// Purpose: the back end of the unwinder for x86-64: finds a known chain by the words on the stack, else walks
// from frame to frame by the cached rules of the unwind tables. It allocates nothing and does not call the
// loader.
// Runs: inside the program's malloc.
#include "preload/os/mappings.h"
#include "preload/stack/known_chains.h"
#include "preload/stack/loaded_modules.h"
#include "preload/stack/native_unwinder.h"
#include "preload/stack/unwind_rule_cache.h"

namespace memtrace::record {
namespace {

// The part of a thread's stack that is known to be readable. It grows as the thread goes deeper.
struct Reach {
  std::uint64_t low;
  std::uint64_t high;
};

// One frame of a walk. The words that led to it are below `sp` and at `bp_slot`. While they are unchanged, the
// inner frame still leads to it.
struct WalkedFrame {
  std::uint64_t ip;
  std::uint64_t sp;
  std::uint64_t bp;
  std::uint64_t bp_slot; // 0: bp was not read from memory; 1: other words were read, which are not kept
};

// The frames of a thread's last walk. Most walks differ from the last one only in their innermost frames.
// Comparing two words takes a fifth of the time of finding a rule.
struct Walk {
  static constexpr std::size_t kMost = 64; // deeper ones are not kept
  Reach reach;
  WalkedFrame known[kMost]; // outermost first
  WalkedFrame fresh[kMost]; // innermost first, of the current walk
  // Bit i: the step from frame i used its bp to find the caller.
  std::uint64_t known_uses_bp;
  std::uint64_t fresh_uses_bp;
  std::uint32_t count;   // entries of `known`
  std::uint32_t unloads; // unloads of code before the last walk
};
static_assert(sizeof(Walk) <= UnwindMemory::kBytes);

using Cfa = FrameRule::Cfa;
using Bp = FrameRule::Bp;

constinit std::uint32_t unloads = 0; // how often code was unloaded

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kLongestStep = 16 << 20; // a larger frame is not plausible

// Extends the readable stack upwards to `end`. Tables may be wrong (hand-written assembly) and lead to any
// address. So the stack is read only where a system call found it readable, one page at a time, at the first
// need. Memory above the stack pointer stays mapped while the thread runs on this stack.
bool reach_up(Reach& reach, std::uint64_t end) {
  if (end > reach.high && end - reach.high > kLongestStep) return false;
  for (; reach.high < end; reach.high += kPageBytes)
    if (!os::is_readable(reinterpret_cast<const void*>(reach.high))) return false;
  return true;
}

// Extends the readable stack downwards. The stack pointer has left the known range: it went deeper, or to
// another stack.
void reach_down(Reach& reach, std::uint64_t sp) {
  const std::uint64_t page = sp & ~(kPageBytes - 1);
  std::uint64_t low = reach.low;
  if (page < low && low - page <= kLongestStep)
    while (low > page && os::is_readable(reinterpret_cast<const void*>(low - kPageBytes))) low -= kPageBytes;
  if (low != page) reach.high = page + kPageBytes;
  reach.low = page;
}

std::uint64_t word_at(std::uint64_t address) {
  return *reinterpret_cast<const std::uint64_t*>(address);
}

constexpr std::uint64_t kOtherWords = 1; // a value of bp_slot

// Steps over a signal's frame: the kernel put a ucontext_t on the stack for the handler.
bool leave_signal(WalkedFrame& frame, Reach& reach) {
  constexpr std::uint64_t kBp = 40 + 8 * 10, kSp = 40 + 8 * 15, kIp = 40 + 8 * 16;
  if (!reach_up(reach, frame.sp + kIp + 8)) return false;
  // 1 more than the interrupted address, because callers treat every address as one after a call.
  frame = {word_at(frame.sp + kIp) + 1, word_at(frame.sp + kSp), word_at(frame.sp + kBp), kOtherWords};
  if (!os::is_readable(reinterpret_cast<const void*>(frame.sp))) return false;
  if (frame.sp - reach.low >= reach.high - reach.low) reach_down(reach, frame.sp);
  return true;
}

// Restores the caller's bp, and its slot. `cfa`: the end of the frame. Returns false if the slot is not in the
// frame.
bool restore_bp(WalkedFrame& frame, const FrameRule& rule, std::uint64_t cfa) {
  frame.bp_slot = 0;
  if (rule.bp == Bp::at_cfa || rule.bp == Bp::at_bp) {
    const std::uint64_t slot =
        (rule.bp == Bp::at_cfa ? cfa : frame.bp) + static_cast<std::uint64_t>(rule.bp_offset);
    if ((slot & 7) != 0 || slot < frame.sp || slot >= cfa) return false;
    frame.bp = word_at(slot);
    frame.bp_slot = slot;
  } else if (rule.bp == Bp::lost) {
    frame.bp = 0;
  }
  return true;
}

enum class StepTo : std::uint8_t {
  caller,  // the frame is the caller's now
  outmost, // the table says that the stack ends here
  at_zero, // the return address is 0
  odd,     // the tables give an impossible value, or code without a table
};

// Steps to the caller's frame. `place` is the cache place of the inner frame's rule, and becomes that of this
// frame. Sets `*uses_bp` if bp was needed.
StepTo step(WalkedFrame& frame, std::uint32_t& place, Reach& reach, bool* uses_bp) {
  const FrameRule rule = frame_rule(frame.ip, place);
  *uses_bp = rule.cfa == Cfa::bp || rule.cfa == Cfa::at_bp || rule.bp == Bp::at_bp;
  if (rule.cfa == Cfa::signal) return leave_signal(frame, reach) ? StepTo::caller : StepTo::odd;
  if (rule.cfa == Cfa::none) return place != 0 ? StepTo::outmost : StepTo::odd;
  const auto within = [&](std::uint64_t address, std::uint64_t end) {
    return (address & 7) == 0 && address >= frame.sp && address < end;
  };
  std::uint64_t cfa = (rule.cfa == Cfa::sp ? frame.sp : frame.bp) + static_cast<std::uint64_t>(rule.cfa_offset);
  if (rule.cfa == Cfa::at_bp) {
    if (!within(cfa, frame.sp + kLongestStep) || !reach_up(reach, cfa + 8)) return StepTo::odd;
    cfa = word_at(cfa);
  }
  if (!within(cfa - 8, frame.sp + kLongestStep) || !reach_up(reach, cfa)) return StepTo::odd;
  if (!restore_bp(frame, rule, cfa)) return StepTo::odd;
  if (rule.cfa == Cfa::at_bp) frame.bp_slot = kOtherWords;
  frame.ip = word_at(cfa - 8);
  frame.sp = cfa;
  return frame.ip != 0 ? StepTo::caller : StepTo::at_zero;
}

// True if the inner frame still leads to this one.
bool is_still_there(const WalkedFrame& frame) {
  if (frame.bp_slot == kOtherWords || word_at(frame.sp - 8) != frame.ip) return false;
  return frame.bp_slot == 0 || word_at(frame.bp_slot) == frame.bp;
}

// Returns how many known frames remain if `frame` is the innermost of them; 0 if it is not a known frame.
std::uint32_t known_from(const Walk& walk, std::uint32_t& below, const WalkedFrame& frame) {
  while (below > 0 && walk.known[below - 1].sp < frame.sp) --below;
  if (below == 0 || walk.known[0].sp > walk.reach.high) return 0;
  const WalkedFrame& known = walk.known[below - 1];
  return known.sp == frame.sp && known.ip == frame.ip && known.bp == frame.bp ? below : 0;
}

struct FoundFrames {
  std::uint64_t* out;
  std::size_t capacity;
  const Range& skip;
  std::size_t count = 0;

  bool full() const { return count == capacity; }
  void add(std::uint64_t ip) {
    if (!skip.holds(ip)) out[count++] = ip;
  }
};

// Walks outwards over the known frames, as long as each still leads to the next. `as_before` is cleared if one
// does not. The last frame is returned, and not added yet.
const WalkedFrame& follow(const Walk& walk, std::uint32_t kept, FoundFrames& found, const Range& stop,
                          bool& as_before) {
  std::uint32_t at = kept - 1;
  while (at > 0 && found.count + 1 < found.capacity && !stop.holds(walk.known[at].ip)) {
    as_before = is_still_there(walk.known[at - 1]);
    if (!as_before) break;
    found.add(walk.known[at].ip);
    --at;
  }
  return walk.known[at];
}

std::uint64_t bit(std::size_t index) {
  return std::uint64_t{1} << index;
}

// Puts the new frames of this walk on top of the first `kept` known ones.
void keep(Walk& walk, std::uint32_t kept, std::size_t fresh) {
  walk.count = 0;
  if (kept + fresh > Walk::kMost) return;
  if (fresh != 0) walk.known_uses_bp &= bit(kept) - 1;
  for (std::size_t i = 0; i < fresh; ++i) {
    walk.known[kept + i] = walk.fresh[fresh - 1 - i];
    if ((walk.fresh_uses_bp & bit(fresh - 1 - i)) != 0) walk.known_uses_bp |= bit(kept + i);
  }
  walk.count = static_cast<std::uint32_t>(kept + fresh);
}

// Writes the words that led from frame to frame, in the order in which a walk reads them.
class WordList {
 public:
  WordList(ReadWord* words, std::uint64_t base) : words_(words), base_(base) {}
  void add_return_address(std::uint64_t slot, std::uint64_t address, bool is_shown) {
    words_[count_++] = {address, place_of(slot), false, is_shown};
  }
  // Adds the word with the bp of the known frame `at`: the inner frame nearest to it, or itself, read that
  // word.
  void add_bp_of(const Walk& walk, std::size_t at) {
    while (at < walk.count && walk.known[at].bp_slot == 0) ++at;
    if (at == walk.count || walk.known[at].bp_slot == last_bp_slot_) return; // it is in the list
    last_bp_slot_ = walk.known[at].bp_slot;
    words_[count_++] = {walk.known[at].bp - base_, place_of(last_bp_slot_), true, false};
  }
  std::size_t count() const { return count_; }

 private:
  std::uint32_t place_of(std::uint64_t slot) const { return static_cast<std::uint32_t>((slot - base_) / 8); }

  ReadWord* words_;
  std::uint64_t base_;
  std::size_t count_ = 0;
  std::uint64_t last_bp_slot_ = 0;
};

bool read_other_words(const Walk& walk) {
  for (std::size_t i = 0; i < walk.count; ++i)
    if (walk.known[i].bp_slot == kOtherWords) return true;
  return false;
}

// Makes the chain of this walk known. `walk.known` has its frames. `last` is the frame at which it ended, if
// that frame is outside of them; null: there is none.
void remember_chain(const Walk& walk, const WalkStart& start, const FoundFrames& found,
                    const WalkedFrame* last) {
  static_assert(kMostReadWords >= 2 * (Walk::kMost + 1));
  if (walk.count == 0 || read_other_words(walk)) return;
  ReadWord* const words = begin_chain(start, found.out, found.count);
  if (words == nullptr) return; // the next walk adds it
  WordList list(words, start.base);
  for (std::size_t i = walk.count; i-- > 0;) {
    const WalkedFrame& frame = walk.known[i];
    list.add_return_address(frame.sp - 8, frame.ip, !start.skip.holds(frame.ip) && !start.stop.holds(frame.ip));
    if ((i > 0 || last != nullptr) && (walk.known_uses_bp & bit(i)) != 0) list.add_bp_of(walk, i);
  }
  if (last != nullptr) list.add_return_address(last->sp - 8, last->ip, false);
  end_chain(start, list.count());
}

// Walks from the frame whose words begin at `start.base`, and makes its chain known.
std::size_t walk_by_rules(Walk& walk, const WalkStart& start, std::uint64_t* out) {
  const std::uint64_t own = start.base;
  WalkedFrame frame{word_at(own + 8), own + 16, word_at(own), own};
  if (const std::uint32_t now = __atomic_load_n(&unloads, __ATOMIC_RELAXED); now != walk.unloads) {
    walk.unloads = now;
    walk.count = 0;
  }
  FoundFrames found{out, start.capacity, start.skip};
  constexpr std::size_t kOwn = 16;  // most frames in `skip`
  std::size_t fresh = 0;            // frames inside the first known one
  std::uint32_t below = walk.count; // known frames that the walk may still reach
  std::uint32_t kept = 0;           // known frames, from the first that the walk reached
  bool as_before = true;
  bool ended = false;                // by the words of the stack, so they lead there again
  const WalkedFrame* last = nullptr; // the frame at which it ended, if that is outside of the frames to keep
  std::uint32_t place = 0;
  walk.fresh_uses_bp = 0;
  for (std::size_t left = start.capacity + kOwn; left > 0 && !ended; --left) {
    bool in_fresh = false;
    if (kept != 0) {
      as_before = false; // the walk goes on after the last known frame
    } else if (kept = known_from(walk, below, frame); kept != 0) {
      frame = follow(walk, kept, found, start.stop, as_before);
    } else if (fresh++ < Walk::kMost) {
      walk.fresh[fresh - 1] = frame;
      in_fresh = true;
    }
    ended = start.stop.holds(frame.ip);
    if (ended) break;
    found.add(frame.ip);
    ended = found.full();
    if (ended) break;
    bool uses_bp = false;
    const StepTo stepped = step(frame, place, walk.reach, &uses_bp);
    if (in_fresh && uses_bp) walk.fresh_uses_bp |= bit(fresh - 1);
    if (stepped == StepTo::odd) break;
    ended = stepped != StepTo::caller || start.stop.holds(frame.ip);
    if (ended && stepped != StepTo::outmost) last = &frame;
  }
  keep(walk, as_before ? kept : 0, as_before ? fresh : Walk::kMost + 1);
  if (ended) remember_chain(walk, start, found, last);
  return found.count;
}

} // namespace

[[gnu::section(".text.startup")]] bool unwinder_needs_loader() { // among the code of the constructor
  return false;
}

bool open_unwinder() {
  return modules_can_be_found() && open_frame_rules() && open_known_chains();
}

void code_was_unloaded() {
  if (!frame_rules_are_open() || !some_module_is_gone()) return;
  __atomic_fetch_add(&unloads, 1u, __ATOMIC_RELAXED);
  forget_frame_rules();
  forget_known_chains();
}

__attribute__((noinline)) Frames unwind(std::uint64_t* out, std::size_t capacity, const Range& skip,
                                        const Range& stop, std::uint64_t hint, UnwindMemory& memory) {
  if (!frame_rules_are_open()) return {};
  Walk& walk = *reinterpret_cast<Walk*>(memory.opaque);
  Reach& reach = walk.reach;
  // This function keeps a frame pointer, so the ABI defines where its own frame is.
  const auto own = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  if (own - reach.low >= reach.high - reach.low) reach_down(reach, own);
  const WalkStart start{skip, stop, capacity, own, reach.high, hint};
  const Frames known = known_chain(start, out);
  return known.stacks != nullptr ? known : Frames{walk_by_rules(walk, start, out)};
}

bool unwinder_may_allocate() {
  return false;
}

std::uint64_t unwinder_bytes() {
  return frame_rules_bytes() + known_chains_bytes();
}

void drop_unwind_caches() {
  drop_frame_rules();
  drop_known_chains();
}

} // namespace memtrace::record
