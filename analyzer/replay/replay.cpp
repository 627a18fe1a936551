// Purpose: one pass over a trace that follows phases and live blocks, and shows each event to an observer.
#include "analyzer/replay/replay.h"

namespace memtrace::replay {

// The observer that leads a pass, and those beside it. They are told in their order.
class Observers : public Observer {
 public:
  Observers(Observer& first, std::span<SideObserver* const> beside) : first_(first), beside_(beside) {}

  void started() override {
    each([this](SideObserver& one) {
      one.ledger_ = ledger_;
      one.phases_ = phases_;
      one.started();
    });
  }
  void cut(const trace::Event& event) override {
    each([&](SideObserver& one) { one.cut(event); });
  }
  void after(const trace::Event& event, const PhasePosition& place) override {
    each([&](SideObserver& one) { one.after(event, place); });
  }
  void finished() override {
    each([](SideObserver& one) { one.finished(); });
  }
  void born(const Block& block) override {
    each([&](SideObserver& one) { one.born(block); });
  }
  void began(const Occurrence& occurrence) override { first_.began(occurrence); }
  void ended(const Occurrence& occurrence, bool skipped) override { first_.ended(occurrence, skipped); }
  void labelled(const Block& block) override { first_.labelled(block); }
  void died(const Block& block, const trace::Event& event) override { first_.died(block, event); }
  void flow(MemoryId memory, std::uint64_t allocated, std::uint64_t freed, std::uint64_t allocations) override {
    first_.flow(memory, allocated, freed, allocations);
  }

 private:
  template <class Tell>
  void each(Tell tell) {
    tell(first_);
    for (SideObserver* const one : beside_) tell(*one);
  }

  Observer& first_;
  std::span<SideObserver* const> beside_;
};

namespace {

constexpr std::size_t kExpected = 8; // events ahead whose cells are loaded into the cache

// The last known positions of threads. Only marks of phases and steps change a position, and most events are
// not marks.
class ThreadPlaces {
 public:
  const PhasePosition& of(std::uint32_t thread, const Phases& phases) {
    ThreadStep& known = known_[thread % kKept];
    if (!known.is || known.thread != thread) known = {true, thread, phases.place(thread)};
    return known.place;
  }
  void forget() {
    for (ThreadStep& known : known_) known.is = false;
  }
  static bool changed_by(format::EventType type) {
    using enum format::EventType;
    return type == phase_begin || type == phase_end || type == step || type == reset || type == window ||
           type == open_phase;
  }

 private:
  static constexpr std::size_t kKept = 16; // threads
  struct ThreadStep {
    bool is = false;
    std::uint32_t thread = 0;
    PhasePosition place;
  };
  ThreadStep known_[kKept];
};

// Applies events to the state of a replay.
class Steps {
 public:
  Steps(LiveBlocks& ledger, Phases& phases, Observer& observer)
      : ledger_(ledger), phases_(phases), observer_(observer) {}

  void take(const trace::Event& event) {
    if (event.type == format::EventType::window) observer_.cut(event);
    if (phases_.follow_collection(event, observer_)) places_.forget();
    // Marks carry no bytes, so the order of phases and live blocks has no effect.
    if (ThreadPlaces::changed_by(event.type)) {
      phases_.apply(event, observer_);
      places_.forget();
    }
    const PhasePosition& place =
        event.type == format::EventType::held ? phases_.born(event) : places_.of(event.thread, phases_);
    ledger_.apply(event, place, observer_);
    observer_.after(event, place);
  }

 private:
  LiveBlocks& ledger_;
  Phases& phases_;
  Observer& observer_;
  ThreadPlaces places_;
};

} // namespace

Replay::Replay(const trace::Trace& trace)
    : trace_(trace), ledger_(trace.definitions(), trace.facts()), phases_(trace.definitions(), trace.facts()) {}

Replay::Replay(const trace::Trace& trace, const Keyframe& from)
    : trace_(trace), from_(&from), ledger_(from.ledger), phases_(from.phases) {}

trace::OrderCounts Replay::run(Observer& observer, trace::Trace::Places* places,
                               std::span<SideObserver* const> beside) {
  if (!beside.empty()) {
    Observers all(observer, beside);
    return run(all, places);
  }
  observer.ledger_ = &ledger_;
  observer.phases_ = &phases_;
  observer.started();
  Steps steps(ledger_, phases_, observer);
  const trace::OrderCounts counts = trace_.pass(
      [&](std::span<const trace::Event> events) {
        for (std::size_t i = 0; i < events.size(); ++i) {
          if (i + kExpected < events.size()) ledger_.expect(events[i + kExpected]);
          steps.take(events[i]);
        }
        return true;
      },
      places);
  observer.finished();
  return counts;
}

FollowedReplay::FollowedReplay(const trace::Definitions& definitions, const trace::Facts& facts,
                               Observer& observer)
    : ledger_(definitions, facts), phases_(definitions, facts), observer_(observer) {
  observer_.ledger_ = &ledger_;
  observer_.phases_ = &phases_;
  observer_.started();
}

void FollowedReplay::take(std::span<const trace::Event> events) {
  Steps steps(ledger_, phases_, observer_);
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (i + kExpected < events.size()) ledger_.expect(events[i + kExpected]);
    steps.take(events[i]);
  }
}

void Replay::run_to(trace::Ordinal until, Observer& observer) {
  observer.ledger_ = &ledger_;
  observer.phases_ = &phases_;
  if (from_ == nullptr) observer.started();
  Steps steps(ledger_, phases_, observer);
  bool reached = false;
  const auto take = [&](std::span<const trace::Event> events) {
    for (const trace::Event& event : events) {
      reached = event.ordinal > until;
      if (reached) return false;
      steps.take(event);
    }
    reached = events.back().ordinal == until;
    return !reached;
  };
  if (from_ == nullptr) {
    trace_.pass(take);
  } else {
    trace_.continue_from(from_->place, take);
  }
  if (!reached) observer.finished();
}

} // namespace memtrace::replay
