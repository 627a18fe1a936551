// Room: record. Runs inside the victim's malloc.
// Job: from frame to frame by rules that were read once from the unwind tables.
#include "record/unwinder.h"

#include "record/modules.h"
#include "record/os.h"
#include "record/unwind_table.h"

namespace memtrace::record {
namespace {

using Cfa = FrameRule::Cfa;
using Bp = FrameRule::Bp;

// A rule fits into 32 bits, and with the bits of its address that its place in the table does not tell, into
// one word: read and written whole, without a lock, and never mistaken for another's.
//
//   63..32 tag: address bits 46..16, and bit 0 of the index
//   31..29 Cfa   28..27 Bp   26..11 CFA offset / 8   10..0 bp offset / 8
constexpr std::uint32_t kSets = 32 * 1024; // of two: 512 KiB, touched as it fills
struct Set {
  std::uint64_t way[2];
};
constinit Set* sets = nullptr;
constinit std::uint32_t unloads = 0; // of code

struct Place {
  std::uint32_t set;
  std::uint64_t tag;
};
Place place_of(std::uint64_t address) {
  const std::uint64_t index = (address ^ address >> 16) & 0xFFFF;
  return {static_cast<std::uint32_t>(index >> 1), (address >> 16) << 1 | (index & 1)};
}

bool fits(const FrameRule& rule) {
  const std::int32_t cfa = rule.cfa_offset / 8, bp = rule.bp_offset / 8;
  return cfa * 8 == rule.cfa_offset && bp * 8 == rule.bp_offset && cfa == static_cast<std::int16_t>(cfa) &&
         bp >= -1024 && bp < 1024;
}
std::uint32_t pack(const FrameRule& rule) {
  return static_cast<std::uint32_t>(rule.cfa) << 29 | static_cast<std::uint32_t>(rule.bp) << 27 |
         (static_cast<std::uint32_t>(rule.cfa_offset / 8) & 0xFFFF) << 11 |
         (static_cast<std::uint32_t>(rule.bp_offset / 8) & 0x7FF);
}
FrameRule unpack(std::uint32_t word) {
  return {static_cast<Cfa>(word >> 29), static_cast<Bp>(word >> 27 & 3),
          static_cast<std::int32_t>(word << 5) >> 16 << 3, static_cast<std::int32_t>(word << 21) >> 21 << 3};
}

FrameRule first_sight(std::uint64_t address, const Place& place) {
  FrameRule rule{};
  // What no object holds is not kept: one may be loaded there.
  if (!find_frame_rule(address, &rule) || !fits(rule) || address >> 47 != 0) return rule;
  std::uint64_t* const way = sets[place.set].way;
  __atomic_store_n(&way[1], __atomic_load_n(&way[0], __ATOMIC_RELAXED), __ATOMIC_RELAXED);
  __atomic_store_n(&way[0], place.tag << 32 | pack(rule), __ATOMIC_RELAXED);
  return rule;
}

FrameRule rule_of(std::uint64_t address) {
  const Place place = place_of(address);
  const std::uint64_t first = __atomic_load_n(&sets[place.set].way[0], __ATOMIC_RELAXED);
  if (first >> 32 == place.tag) return unpack(static_cast<std::uint32_t>(first));
  const std::uint64_t second = __atomic_load_n(&sets[place.set].way[1], __ATOMIC_RELAXED);
  if (second >> 32 == place.tag) return unpack(static_cast<std::uint32_t>(second));
  return first_sight(address, place);
}

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kLongestStep = 16 << 20; // a frame that is larger is none

// Tables may be wrong (hand-written assembly), and then a frame would be sought anywhere. So the stack is read
// only where a system call has found it readable, page by page as it is first needed: what lies above the stack
// pointer stays mapped while the thread runs on it.
bool reach_up(Reach& reach, std::uint64_t end) {
  if (end > reach.high && end - reach.high > kLongestStep) return false;
  for (; reach.high < end; reach.high += kPageBytes)
    if (!os::is_readable(reinterpret_cast<const void*>(reach.high))) return false;
  return true;
}

// The stack pointer has left what is known: it went deeper, or to another stack.
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

constexpr std::uint64_t kOtherWords = 1; // a bp_slot

// What the kernel put on the stack for a signal's handler: a ucontext_t.
bool leave_signal(WalkedFrame& frame, Reach& reach) {
  constexpr std::uint64_t kBp = 40 + 8 * 10, kSp = 40 + 8 * 15, kIp = 40 + 8 * 16;
  if (!reach_up(reach, frame.sp + kIp + 8)) return false;
  // One more than where it stopped: addresses are taken for those after a call everywhere.
  frame = {word_at(frame.sp + kIp) + 1, word_at(frame.sp + kSp), word_at(frame.sp + kBp), kOtherWords};
  if (!os::is_readable(reinterpret_cast<const void*>(frame.sp))) return false;
  if (frame.sp - reach.low >= reach.high - reach.low) reach_down(reach, frame.sp);
  return true;
}

// To the caller's frame. False: the stack ends, or what the tables say cannot be.
bool step(WalkedFrame& frame, Reach& reach) {
  const FrameRule rule = rule_of(frame.ip);
  if (rule.cfa == Cfa::signal) return leave_signal(frame, reach);
  if (rule.cfa == Cfa::none) return false;
  const auto within = [&](std::uint64_t address, std::uint64_t end) {
    return (address & 7) == 0 && address >= frame.sp && address < end;
  };
  std::uint64_t cfa = (rule.cfa == Cfa::sp ? frame.sp : frame.bp) + static_cast<std::uint64_t>(rule.cfa_offset);
  if (rule.cfa == Cfa::at_bp) {
    if (!within(cfa, frame.sp + kLongestStep) || !reach_up(reach, cfa + 8)) return false;
    cfa = word_at(cfa);
  }
  if (!within(cfa - 8, frame.sp + kLongestStep) || !reach_up(reach, cfa)) return false;
  std::uint64_t slot = 0;
  if (rule.bp == Bp::at_cfa || rule.bp == Bp::at_bp) {
    slot = (rule.bp == Bp::at_cfa ? cfa : frame.bp) + static_cast<std::uint64_t>(rule.bp_offset);
    if (!within(slot, cfa)) return false;
    frame.bp = word_at(slot);
  } else if (rule.bp == Bp::lost) {
    frame.bp = 0;
  }
  frame.bp_slot = rule.cfa == Cfa::at_bp ? kOtherWords : slot;
  frame.ip = word_at(cfa - 8);
  frame.sp = cfa;
  return frame.ip != 0;
}

// Does the frame inside lead to this one as it did?
bool is_still_there(const WalkedFrame& frame) {
  if (frame.bp_slot == kOtherWords || word_at(frame.sp - 8) != frame.ip) return false;
  return frame.bp_slot == 0 || word_at(frame.bp_slot) == frame.bp;
}

// How many of the known frames are left when this one is reached, it being the innermost of them; 0: it is none.
std::uint32_t known_from(const Walk& walk, std::uint32_t& below, const WalkedFrame& frame) {
  while (below > 0 && walk.known[below - 1].sp < frame.sp) --below;
  if (below == 0 || walk.known[0].sp > walk.reach.high) return 0;
  const WalkedFrame& known = walk.known[below - 1];
  return known.sp == frame.sp && known.ip == frame.ip && known.bp == frame.bp ? below : 0;
}

struct Found {
  std::uint64_t* out;
  std::size_t capacity;
  const Range& skip;
  std::size_t count = 0;

  bool full() const { return count == capacity; }
  void add(std::uint64_t ip) {
    if (!skip.holds(ip)) out[count++] = ip;
  }
};

// From known frame to known frame, outwards, as long as each leads to the next as it did; `as_before` is cleared
// when one does not. The last of them is not added yet.
const WalkedFrame& follow(const Walk& walk, std::uint32_t kept, Found& found, const Range& stop,
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

// The frames of this walk that were not known come on top of the first `kept` that were.
void keep(Walk& walk, std::uint32_t kept, std::size_t fresh) {
  walk.count = 0;
  if (kept + fresh > Walk::kMost) return;
  for (std::size_t i = 0; i < fresh; ++i) walk.known[kept + i] = walk.fresh[fresh - 1 - i];
  walk.count = static_cast<std::uint32_t>(kept + fresh);
}

} // namespace

bool open_unwinder() {
  if (!modules_can_be_found()) return false;
  sets = static_cast<Set*>(os::map_private(kSets * sizeof(Set)));
  return sets != nullptr;
}

void code_was_unloaded() {
  if (sets == nullptr || !some_module_is_gone()) return;
  __atomic_fetch_add(&unloads, 1u, __ATOMIC_RELAXED);
  for (std::uint32_t i = 0; i < kSets; ++i) {
    for (std::uint64_t& way : sets[i].way) // read first, so that pages never used stay so
      if (__atomic_load_n(&way, __ATOMIC_RELAXED) != 0) __atomic_store_n(&way, 0u, __ATOMIC_RELAXED);
  }
}

__attribute__((noinline)) std::size_t unwind(std::uint64_t* out, std::size_t capacity, const Range& skip,
                                             const Range& stop, Walk& walk) {
  if (sets == nullptr) return 0;
  Reach& reach = walk.reach;
  // This function keeps a frame pointer, so its own frame is where the ABI says.
  const auto own = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  WalkedFrame frame{word_at(own + 8), own + 16, word_at(own), kOtherWords};
  if (own - reach.low >= reach.high - reach.low) reach_down(reach, own);
  if (const std::uint32_t now = __atomic_load_n(&unloads, __ATOMIC_RELAXED); now != walk.unloads) {
    walk.unloads = now;
    walk.count = 0;
  }
  Found found{out, capacity, skip};
  constexpr std::size_t kOwn = 16;  // at most, frames in `skip`
  std::size_t fresh = 0;            // frames before the first that is known
  std::uint32_t below = walk.count; // known frames that may still be met
  std::uint32_t kept = 0;           // of them, from the first that was met on
  bool as_before = true;
  for (std::size_t left = capacity + kOwn; left > 0 && !found.full(); --left) {
    if (kept != 0) {
      as_before = false; // it goes on after the last that was known
    } else if (kept = known_from(walk, below, frame); kept != 0) {
      frame = follow(walk, kept, found, stop, as_before);
    } else if (fresh++ < Walk::kMost) {
      walk.fresh[fresh - 1] = frame;
    }
    if (stop.holds(frame.ip)) break;
    found.add(frame.ip);
    if (!step(frame, reach) || stop.holds(frame.ip)) break;
  }
  keep(walk, as_before ? kept : 0, as_before ? fresh : Walk::kMost + 1);
  return found.count;
}

} // namespace memtrace::record
