// Purpose: the lines of a program that left blocks in recurring events, and the decision which of them leak.
#include "analyzer/findings/process/event_trails.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <set>
#include <tuple>

#include "analyzer/explain/leading_peak.h"
#include "analyzer/explain/thresholds.h"
#include "analyzer/findings/process/arena_site.h"
#include "analyzer/replay/percentile.h"

namespace memtrace::report {
namespace {

using replay::KnownPhase;
using replay::LeftBlock;
using replay::MemoryId;
using replay::PathId;

// A guessed cycle must keep this much. A program that collects its recordings in a loop keeps 0.1 MiB that it
// still needs. The leaks of servers and pipelines that were tried keep 0.4 MiB or more.
constexpr std::int64_t kLeastPerCycle = 256 << 10;
constexpr std::int64_t kLeastPerEvent = 64 << 10; // bytes; the figures of an evaluation are less
constexpr std::int64_t kFreedPart = 10;           // a tenth freed later: a window of the last events
constexpr std::size_t kThirds = 3;

EventKind kind_of(const ProcessAnalysis& analysis, const RecurringPhases& phases, const LeftBlock& block) {
  if (block.phase < phases.counted.size()) return {phases.counted[block.phase].path, block.phase};
  return {phase_of_event(analysis, phases, block.born.path), phases.counted.size()};
}

// True if the event is neither of the setup nor the last one, whose blocks may still be in use.
bool is_judged(const RecurringPhases& phases, const replay::LeftBlocks& left, const LeftBlock& block) {
  if (block.phase < phases.counted.size())
    return block.event + 1 < static_cast<std::int64_t>(left.events[block.phase]);
  return phases.range.from <= block.event && block.event <= phases.range.to;
}

// Returns the phase that occurred in all steps in which the trail left something. The program made the blocks
// from the results of an evaluation, after it. Of several phases it is the rarest. Returns PathId::other if
// there is none.
PathId phase_beside(const EventTrail& trail, const RecurringPhases& phases) {
  PathId out = PathId::other;
  std::size_t rarest = ~std::size_t{0};
  if (trail.born_in_update) return out;
  for (const auto& [path, with_it] : phases.steps) {
    const auto& steps = with_it; // clang 14 refuses the capture of a structured binding
    const bool all = std::all_of(trail.bytes.begin(), trail.bytes.end(), [&steps](const auto& event) {
      return std::binary_search(steps.begin(), steps.end(), event.first);
    });
    if (all && steps.size() < rarest) rarest = steps.size(), out = path;
  }
  return out;
}

std::vector<EventTrail> event_trails(ProcessAnalysis& analysis, const RecurringPhases& phases,
                                     const replay::LeftBlocks& left) {
  std::map<std::tuple<MemoryId, PathId, std::size_t, bool, std::string>, EventTrail> by_line;
  for (const LeftBlock& block : left.each) {
    if (block.stack == format::StackId{} || !is_judged(phases, left, block)) continue;
    const symbols::Site& site = analysis.symbolizer->site(block.stack);
    const bool arena = block.kind == format::Kind::mmap_anon && is_arena(site);
    const EventKind of = kind_of(analysis, phases, block);
    const std::string place = arena ? "arenas" : site.where + "\n" + site.caller;
    EventTrail& trail = by_line[{block.memory, of.path, of.counted, block.tensor, place}];
    if (trail.blocks.empty()) trail.of = of, trail.memory = block.memory, trail.line = site.line();
    const auto bytes = static_cast<std::int64_t>(block.bytes);
    trail.bytes[block.event] = replay::wrapping_add(trail.bytes[block.event], bytes);
    trail.stacks[block.stack] = replay::wrapping_add(trail.stacks[block.stack], bytes);
    trail.blocks.push_back(&block);
    trail.arena = arena;
    trail.born_in_update =
        trail.born_in_update ||
        (block.tensor && (block.born.known == KnownPhase::backward || block.born.known == KnownPhase::step));
  }
  std::vector<EventTrail> out;
  out.reserve(by_line.size());
  for (auto& [key, trail] : by_line) {
    if (trail.of.path == PathId::other) trail.of.path = phase_beside(trail, phases);
    out.push_back(std::move(trail));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const EventTrail& a, const EventTrail& b) { return a.sum() > b.sum(); });
  return out;
}

// Returns the steps at the distance of those that left something, over the whole range, or none if the
// distances are not equal.
std::vector<std::int64_t> regular_steps(const EventTrail& trail, const LeakSteps& range) {
  const std::int64_t first = trail.bytes.begin()->first;
  const std::int64_t apart = std::next(trail.bytes.begin())->first - first;
  if (apart < 2) return {};
  for (auto at = std::next(trail.bytes.begin()); at != trail.bytes.end(); ++at)
    if (at->first - std::prev(at)->first != apart) return {};
  // A trail that leaves out more than this does not grow evenly. The range is as long as the trace says.
  if (range.count() / apart > 4 * static_cast<std::int64_t>(trail.bytes.size())) return {};
  std::vector<std::int64_t> out;
  for (std::int64_t step = first - (first - range.from) / apart * apart;; step += apart) {
    out.push_back(step);
    if (step > range.to - apart) return out;
  }
}

std::vector<std::int64_t> events_of(const RecurringPhases& phases, const replay::LeftBlocks& left,
                                    const EventTrail& trail) {
  if (trail.of.counted < phases.counted.size()) {
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i + 1 < left.events[trail.of.counted]; ++i)
      out.push_back(static_cast<std::int64_t>(i));
    return out;
  }
  if (trail.of.path != PathId::other) return phases.steps.at(trail.of.path);
  if (!phases.leaks_show || trail.arena || trail.born_in_update) return {};
  return regular_steps(trail, phases.range);
}

// True if each third of the events left a similar part. The first event is left out: it may build what all
// later ones use.
bool grows_evenly(const EventTrail& trail, const std::vector<std::int64_t>& events) {
  const std::size_t judged = events.size() - 1;
  std::array<std::int64_t, kThirds> thirds{};
  std::array<std::int64_t, kThirds> counts{};
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < judged; ++i) {
    const auto at = trail.bytes.find(events[i + 1]);
    const std::int64_t bytes = at == trail.bytes.end() ? 0 : at->second;
    std::int64_t& third = thirds[i * kThirds / judged];
    third = replay::wrapping_add(third, bytes);
    ++counts[i * kThirds / judged];
    sum = replay::wrapping_add(sum, bytes);
  }
  const std::int64_t mean = sum / static_cast<std::int64_t>(judged);
  for (std::size_t i = 0; i < kThirds; ++i) {
    const std::int64_t third = thirds[i] / counts[i];
    if (third < mean / 2 || third / 3 > mean / 2) return false;
  }
  return true;
}

// True if at most half of the steps left something, or the steps are too few to be a `leak-per-step`.
bool few_steps(const EventTrail& trail, const RecurringPhases& phases) {
  std::set<replay::Step> steps;
  for (const LeftBlock* block : trail.blocks) steps.insert(block->born.step);
  return !phases.leaks_show || 2 * static_cast<std::int64_t>(steps.size()) <= phases.range.count();
}

// Returns the median of what the events after the first left, if three of four left nearly as much, else 0. The
// mean would count what the last one may still use.
std::int64_t usual_bytes(const EventTrail& trail, const std::vector<std::int64_t>& events) {
  constexpr std::int64_t kNear = 20; // a twentieth
  std::vector<std::int64_t> left;
  for (const std::int64_t event : events) {
    if (event <= trail.bytes.begin()->first) continue;
    const auto at = trail.bytes.find(event);
    left.push_back(at == trail.bytes.end() ? 0 : at->second);
  }
  if (left.empty()) return 0;
  const std::int64_t usual = replay::median(left);
  const auto near = std::count_if(left.begin(), left.end(), [&](std::int64_t bytes) {
    return std::abs(replay::wrapping_sub(bytes, usual)) <= usual / kNear;
  });
  return 4 * static_cast<std::size_t>(near) >= 3 * left.size() ? usual : 0;
}

// True if a typical cycle allocates hardly more than the trail keeps of it: the program reads what it needs.
bool only_collects(const ProcessAnalysis& analysis, const EventTrail& trail, const replay::LeftBlocks& left) {
  const auto cycles = static_cast<std::int64_t>(left.events[trail.of.counted]);
  const std::int64_t kept = trail.sum() / std::max<std::int64_t>(1, cycles - 1);
  const auto allocated = static_cast<std::int64_t>(replay::typical_cycle(*analysis.cycles).allocated);
  return allocated / 5 * 4 < kept;
}

// Returns the events of the kind if the trail is a leak, else none.
std::vector<std::int64_t> judged_events(const ProcessAnalysis& analysis, const RecurringPhases& phases,
                                        const replay::LeftBlocks& left, const EventTrail& trail) {
  const auto enough = std::count_if(trail.bytes.begin(), trail.bytes.end(),
                                    [](const auto& event) { return event.second >= kLeastPerEvent; });
  if (enough < static_cast<std::ptrdiff_t>(kFewestEvents) || trail.sum() < kLeastOfEvents) return {};
  std::int64_t freed = 0;
  for (const auto& [stack, bytes] : trail.stacks)
    if (const auto at = left.freed_later.find({trail.memory, stack}); at != left.freed_later.end())
      freed = replay::wrapping_add(freed, at->second);
  // A library may make all blocks of a program at one line. Then it matters that each cycle left as much.
  const bool is_shared = phases.guessed && usual_bytes(trail, events_of(phases, left, trail)) != 0;
  if ((freed > trail.sum() / kFreedPart && !is_shared) || !few_steps(trail, phases)) return {};
  if (phases.guessed && only_collects(analysis, trail, left)) return {};
  // A program may collect the results of its calls. Only what matters beside its peak is a finding.
  if (trail.of.counted < phases.counted.size() &&
      !worthwhile(trail.sum(), leading_peak(analysis, trail.memory).bytes))
    return {};
  const std::vector<std::int64_t> events = events_of(phases, left, trail);
  if (phases.guessed && per_event(trail, events) < kLeastPerCycle) return {};
  return events.size() > kThirds && grows_evenly(trail, events) ? events : std::vector<std::int64_t>{};
}

} // namespace

std::int64_t per_event(const EventTrail& trail, const std::vector<std::int64_t>& events) {
  const std::int64_t usual = usual_bytes(trail, events);
  if (usual != 0) return usual;
  const auto index = [&](std::int64_t event) {
    return std::lower_bound(events.begin(), events.end(), event) - events.begin();
  };
  const auto& [first, of_first] = *trail.bytes.begin();
  const std::int64_t apart = index(trail.bytes.rbegin()->first) - index(first);
  return apart == 0 ? 0 : (trail.sum() - of_first) / apart;
}

std::vector<EventLeak> event_leaks(ProcessAnalysis& analysis, const RecurringPhases& phases,
                                   const replay::LeftBlocks& left) {
  const auto same_events = [](const EventTrail& a, const EventTrail& b) {
    return a.memory == b.memory && a.of.counted == b.of.counted && a.of.path == b.of.path &&
           std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end(),
                      [](const auto& one, const auto& other) { return one.first == other.first; });
  };
  std::vector<EventLeak> out;
  for (EventTrail& trail : event_trails(analysis, phases, left)) {
    std::vector<std::int64_t> events = judged_events(analysis, phases, left, trail);
    if (events.empty()) continue;
    const auto known = std::find_if(out.begin(), out.end(),
                                    [&](const EventLeak& leak) { return same_events(trail, leak.largest()); });
    EventLeak& leak = known != out.end() ? *known : out.emplace_back();
    leak.trails.push_back(std::move(trail));
    leak.events = std::move(events);
  }
  return out;
}

} // namespace memtrace::report
