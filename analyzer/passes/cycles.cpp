// Purpose: the cycles of a program that marks no phase, found from the pattern of its allocations.
#include "analyzer/passes/cycles.h"

#include <algorithm>
#include <unordered_map>

#include "analyzer/passes/repeated_sites.h"
#include "analyzer/replay/percentile.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::replay {
namespace {

// False for mappings, too: an allocator maps memory when it needs more, at any line.
bool counts(const Block& block) {
  return block.memory == 0 && block.counted && !block.sampled && block.kind != format::Kind::mmap_anon;
}

struct SiteOfStack {
  std::uint64_t frames = 0; // equal for stacks with equal Python frames
  bool in_python = false;
};

class SiteKeys {
 public:
  explicit SiteKeys(const trace::Definitions& definitions) : definitions_(definitions) {}

  const SiteOfStack& of(format::StackId stack) {
    const auto [at, fresh] = known_.try_emplace(stack);
    if (fresh) at->second = hash(stack);
    return at->second;
  }
  // Without a line of Python, a library may make all its blocks at one site: their sizes tell them apart.
  RepeatedSites::SiteKey key(const Block& block) {
    const SiteOfStack& site = of(block.stack);
    std::uint64_t out = site.frames;
    if (!site.in_python) mix(out, block.given);
    return out;
  }

 private:
  static void mix(std::uint64_t& hash, std::uint64_t value) {
    constexpr std::uint64_t kPrime = 1099511628211U;
    for (int shift = 0; shift < 64; shift += 16) hash = (hash ^ (value >> shift & 0xffff)) * kPrime;
  }

  SiteOfStack hash(format::StackId stack) const {
    constexpr std::uint64_t kSeed = 14695981039346656037U;
    const std::vector<trace::Frame> frames = definitions_.frames(stack);
    const bool python = std::any_of(frames.begin(), frames.end(), [](const auto& one) { return one.python; });
    SiteOfStack out{kSeed, python};
    for (const trace::Frame& frame : frames)
      if (frame.python == python) mix(out.frames, frame.value);
    return out;
  }

  const trace::Definitions& definitions_;
  std::unordered_map<format::StackId, SiteOfStack> known_;
};

class SitePass : public Observer {
 public:
  SitePass(SiteKeys& keys, RepeatedSites& sites) : keys_(keys), sites_(sites) {}
  void born(const Block& block) override {
    if (!counts(block) || block.stack == format::StackId{}) return;
    sites_.born(keys_.key(block), block.given, keys_.of(block.stack).in_python);
  }

 private:
  SiteKeys& keys_;
  RepeatedSites& sites_;
};

class CyclePass : public Observer {
 public:
  CyclePass(SiteKeys& keys, RepeatedSites::SiteKey anchor) : keys_(keys), anchor_(anchor) {}

  void born(const Block& block) override {
    if (!counts(block)) return;
    if (block.stack != format::StackId{} && keys_.key(block) == anchor_) {
      out_.each.push_back({block.birth, block.birth_stamp, live_, live_, 0});
      out_.anchor = block.stack;
    }
    if (!out_.each.empty()) out_.each.back().allocated += block.given;
  }
  void after(const trace::Event&, const PhasePosition&) override {
    live_ = ledger().level(0).live;
    if (!out_.each.empty()) out_.each.back().peak = std::max(out_.each.back().peak, live_);
  }

  Cycles take() && {
    if (out_.each.empty()) return std::move(out_);
    const Cycle& last = out_.each.back();
    out_.end = last.begin, out_.ended = last.stamp, out_.exit = last.entry;
    out_.each.pop_back();
    return std::move(out_);
  }

 private:
  SiteKeys& keys_;
  RepeatedSites::SiteKey anchor_;
  std::int64_t live_ = 0;
  Cycles out_;
};

format::Stamp end_of(const Cycles& cycles, std::size_t index) {
  return index + 1 < cycles.each.size() ? cycles.each[index + 1].stamp : cycles.ended;
}

} // namespace

std::optional<Cycles> find_cycles(const trace::Trace& trace) {
  SiteKeys keys(trace.definitions());
  RepeatedSites sites;
  SitePass site_pass(keys, sites);
  Replay(trace).run(site_pass);
  const auto anchor = sites.anchor();
  if (!anchor) return std::nullopt;
  CyclePass cycle_pass(keys, *anchor);
  Replay(trace).run(cycle_pass);
  Cycles out = std::move(cycle_pass).take();
  if (out.each.size() + 1 < kFewestCycles) return std::nullopt;
  const format::Stamp first = out.each.front().stamp;
  const format::Stamp last = std::max(trace.facts().last_stamp, out.ended);
  if (out.ended < first || last - out.ended > out.ended - first) return std::nullopt;
  return out;
}

std::int64_t net_of(const Cycles& cycles, std::size_t index) {
  const bool is_last = index + 1 == cycles.each.size();
  return wrapping_sub(is_last ? cycles.exit : cycles.each[index + 1].entry, cycles.each[index].entry);
}

TypicalCycle typical_cycle(const Cycles& cycles) {
  const std::size_t all = cycles.each.size();
  const auto over = [&](auto figure) {
    std::vector<decltype(figure(std::size_t{0}))> values;
    for (std::size_t i = 1; i < all; ++i) values.push_back(figure(i));
    return median(std::move(values));
  };
  const auto& each = cycles.each;
  return {over([&](std::size_t i) { return each[i].entry; }),
          over([&](std::size_t i) { return wrapping_sub(each[i].peak, each[i].entry); }),
          over([&](std::size_t i) { return net_of(cycles, i); }),
          over([&](std::size_t i) { return each[i].allocated; }),
          over([&](std::size_t i) -> std::uint64_t { return end_of(cycles, i) - each[i].stamp; })};
}

} // namespace memtrace::replay
