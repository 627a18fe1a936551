// Purpose: the first pass: levels and flows of every phase and step, and the peaks.
#include "analyzer/attribute/phase_accounting.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/attribute/growing_rows.h"
#include "analyzer/attribute/unfinished_phases.h"

namespace memtrace::replay {
namespace {

using format::EventType;

class Attribution : public Observer {
 public:
  Attribution(Keyframes* keyframes, const WantedSteps& wanted, const trace::Facts& facts)
      : keyframes_(keyframes), before_(facts.before) {
    rows_.thinning().want(wanted);
  }

  Account take() && { return std::move(account_); }
  Account& result() { return account_; }

  void began(const Occurrence& occurrence) override {
    open_.begin(occurrence, row(occurrence.path, occurrence.step), now_, levels_now());
    account_.last_step = std::max(account_.last_step, occurrence.step);
    follow_forward(known_phase(phases().paths().text(phases().paths().last(occurrence.path))));
  }

  void ended(const Occurrence& occurrence, bool skipped) override {
    if (!open_.end(occurrence, skipped, now_, levels_now())) return;
    updated_ = !skipped && phases().paths().text(phases().paths().last(occurrence.path)) == "step"
                   ? occurrence.step
                   : updated_;
  }

  void flow(MemoryId memory, std::uint64_t allocated, std::uint64_t freed, std::uint64_t allocations) override {
    SmallFlow& flow = pending_.emplace_back(); // set in place: a copy would wait for these stores
    flow.memory = memory;
    flow.allocated = allocated;
    flow.freed = freed;
    flow.allocations = allocations;
  }

  void labelled(const Block& block) override {
    if (keyframes_ != nullptr) keyframes_->labelled(block);
  }
  void died(const Block& block, const trace::Event& event) override {
    if (keyframes_ != nullptr) keyframes_->died(block, event, phases());
  }

  void after(const trace::Event& event, const PhasePosition& place) override {
    now_ = event.ordinal;
    if (keyframes_ != nullptr) keyframes_->after(event, phases());
    if (updated_ != Step::none) note_update(event.stamp);
    if (!pending_.empty()) {
      Row& at = row(place.path, place.step).row;
      for (const SmallFlow& flow : pending_) {
        see(flow.memory);
        MemoryRow& figures = memory_row(at, flow.memory);
        figures.allocated += flow.allocated;
        figures.freed += flow.freed;
        figures.allocations += flow.allocations;
      }
      pending_.clear();
    }
    if (event.flags >> format::kMemoryShift != 0) follow(event);
    if (is_said(event.type)) return said(event, place);
    if (event.type == EventType::phase_begin && (event.flags & format::kInstant) != 0) instant(event, place);
    levels(event, place);
  }

  void cut(const trace::Event& event) override {
    if (keyframes_ != nullptr) keyframes_->cut(event, ledger(), phases());
    open_.mark_partial();
    open_.end_all(now_, levels_now());
    account_.detail.push_back({from_, before(phases().step())});
    const std::int64_t after_present = event.as<format::WindowEvent>().step_plus_1;
    from_ = static_cast<Step>(after_present);
    std::fill(reserved_.begin(), reserved_.end(), 0);
    for (auto& [memory, gpu] : devices_) gpu.forget();
    now_ = event.ordinal;
  }

  void finished() override {
    if (keyframes_ != nullptr) keyframes_->finished(ledger(), phases());
    open_.end_all(now_, levels_now());
    for (const auto& [memory, gpu] : devices_)
      if (gpu.most().peak) account_.device_usage[memory] = gpu.most();
    account_.last_step = std::max(account_.last_step, phases().step());
    account_.detail.push_back({from_, std::max(account_.last_step, Step{0})});
    account_.stride = rows_.thinning().stride();
    account_.rows = std::move(rows_).take_packed();
    account_.paths = phases().paths();
    account_.first_update = phases().first_update();
    account_.unknown_deaths = ledger().unknown_deaths();
  }

  void started() override {
    account_.peaks[0];
    take_over(0);
    if (!before_) return;
    for (const auto& [memory, held] : before_->devices) {
      take_over(static_cast<MemoryId>(memory));
      if (held.reserved == 0) continue;
      reserved_[memory] = static_cast<std::int64_t>(held.reserved);
      account_.peaks[static_cast<MemoryId>(memory)].reserved.emplace().bytes = reserved_[memory];
    }
  }

 private:
  struct SmallFlow {
    MemoryId memory;
    std::uint64_t allocated, freed, allocations;
  };

  void follow_forward(KnownPhase began) {
    if (began != KnownPhase::forward && began != KnownPhase::backward && began != KnownPhase::step) return;
    if (awaits_backward_ && began != KnownPhase::backward) ++account_.forwards_without_backward;
    awaits_backward_ = began == KnownPhase::forward;
  }

  // Begins with the levels that the process inherited, or held before it was recorded.
  void take_over(MemoryId memory) {
    see(memory);
    const Level inherited = ledger().level(memory);
    account_.peaks[memory].live.bytes = inherited.live;
    account_.peaks[memory].tensor.bytes = inherited.tensor;
    account_.tensors = account_.tensors || inherited.tensor != 0;
  }

  void note_update(format::Stamp stamp) {
    if (!account_.last_update) rows_.thinning().keep(updated_);
    account_.last_update = Update{now_, stamp, updated_, pinned_idle_, all_levels()};
    updated_ = Step::none;
  }

  void instant(const trace::Event& event, const PhasePosition& place) {
    account_.instants.add(
        {event.as<format::PhaseBeginEvent>().name, now_, event.stamp, place.path, place.step, all_levels()});
  }

  std::vector<Level> all_levels() const {
    std::vector<Level> out;
    for (std::size_t i = 0; i < seen_; ++i) out.push_back(ledger().level(static_cast<MemoryId>(i)));
    return out;
  }

  // True if the kernel, a driver or an allocator measured the figure. It is not a sum of births and deaths.
  static bool is_said(EventType type) {
    using enum EventType;
    return type == sample_process || type == sample_ledger || type == sample_resident || type == reserved ||
           type == sample_device || type == format::EventType::level;
  }

  void said(const trace::Event& event, const PhasePosition& place) {
    if (event.type == EventType::reserved) return reserved(event, place);
    if (event.type == EventType::sample_device) return used(event, place);
    if (event.type == EventType::level) return level(event);
    if (event.type == EventType::sample_process) sample(event, place);
    account_.ledgers.add(event);
  }

  void follow(const trace::Event& event) {
    using enum EventType;
    const EventType type = event.type;
    if (type == birth || type == death || type == reserved || type == format::EventType::level || type == held)
      devices_[static_cast<MemoryId>(event.flags >> format::kMemoryShift)].follow(event);
  }

  static Step before(Step step) { return static_cast<Step>(static_cast<std::int64_t>(step) - 1); }

  // Takes a level of a window's snapshot. The level is not new, so it does not raise a peak.
  void level(const trace::Event& event) {
    const auto memory = static_cast<MemoryId>(event.flags >> format::kMemoryShift);
    see(memory);
    account_.peaks[memory];
    const auto level = event.as<format::LevelEvent>();
    reserved_[memory] = level.reserved;
    if (reserved_[memory] != 0 && !account_.peaks[memory].reserved) account_.peaks[memory].reserved.emplace();
    account_.tensors = account_.tensors || level.tensor != 0;
  }

  void see(MemoryId memory) {
    if (memory < seen_) return;
    seen_ = std::size_t{memory} + 1;
    reserved_.resize(seen_);
    open_.see(memory);
  }

  GrowingRow& row(PathId path, Step step) { return rows_.row(path, step, phases().step()); }

  // The levels of all memories after the last event. The next call replaces them.
  UnfinishedPhases::Levels levels_now() {
    levels_.clear();
    for (std::size_t i = 0; i < seen_; ++i) {
      const Level& level = ledger().level(static_cast<MemoryId>(i));
      levels_.push_back({level.live, level.tensor, reserved_[i], shown(i)});
    }
    return levels_;
  }

  std::int64_t shown(std::size_t memory) const {
    const auto gpu = devices_.find(static_cast<MemoryId>(memory));
    return gpu == devices_.end() ? kNotShown : gpu->second.shown();
  }

  static void raise(Peak& peak, std::int64_t bytes, const trace::Event& event, const PhasePosition& place) {
    if (bytes > peak.bytes) peak = {bytes, event.ordinal, event.stamp, place.path, place.step, {}};
  }

  void levels(const trace::Event& event, const PhasePosition& place) {
    if (event.type != EventType::birth && event.type != EventType::counters && event.type != EventType::move &&
        event.type != EventType::protect)
      return;
    const auto memory = event.type == EventType::birth
                            ? static_cast<MemoryId>(event.flags >> format::kMemoryShift)
                            : MemoryId{0};
    see(memory);
    const Level& level = ledger().level(memory);
    HighestLevels& highest = open_.highest(memory);
    highest.live.raise(level.live, event.ordinal);
    highest.tensor.raise(level.tensor, event.ordinal);
    if (memory != 0 && devices_[memory].reached(level.live)) highest.asked.raise(level.live, event.ordinal);
    if (peaks_.size() < seen_) peaks_.resize(seen_);
    if (peaks_[memory] == nullptr) peaks_[memory] = &account_.peaks[memory];
    MemoryPeaks& peaks = *peaks_[memory];
    raise(peaks.live, level.live, event, place);
    raise(peaks.tensor, level.tensor, event, place);
    account_.tensors = account_.tensors || level.tensor != 0;
  }

  void reserved(const trace::Event& event, const PhasePosition& place) {
    const auto memory = static_cast<MemoryId>(event.flags >> format::kMemoryShift);
    see(memory);
    const auto said = event.as<format::ReservedEvent>();
    const auto bytes = static_cast<std::int64_t>(said.reserved);
    reserved_[memory] = bytes;
    if (memory == 0) pinned_idle_ = said.reserved > said.allocated ? said.reserved - said.allocated : 0;
    open_.highest(memory).reserved.raise(bytes, event.ordinal);
    auto& peak = account_.peaks[memory].reserved;
    if (!peak) peak.emplace();
    raise(*peak, bytes, event, place);
  }

  // Takes the bytes that the GPU reports for this process. If it does not know the process by its pid, it
  // reports those of all processes.
  void used(const trace::Event& event, const PhasePosition& place) {
    const auto memory = static_cast<MemoryId>(event.flags >> format::kMemoryShift);
    if (memory == 0) return;
    const Level& level = ledger().level(memory);
    if (!devices_[memory].look(event, level, place)) return;
    see(memory);
    HighestLevels& highest = open_.highest(memory);
    highest.used.raise(shown(memory), event.ordinal);
    highest.asked.raise(level.live, event.ordinal);
    account_.peaks[memory];
  }

  void sample(const trace::Event& event, const PhasePosition& place) {
    const auto sample = event.as<format::SampleProcessEvent>();
    const Resident now{sample.anon, sample.file, sample.shmem};
    open_.sample(now, event.ordinal);
    if (!account_.rss) account_.rss.emplace();
    // Programs may reset VmHWM, so the highest value that was ever read counts.
    raise(*account_.rss, static_cast<std::int64_t>(std::max(sample.high_water, now.sum())), event, place);
  }

  Keyframes* keyframes_; // or null
  const std::optional<trace::HeldBefore> before_;
  Account account_;
  GrowingRows rows_;
  UnfinishedPhases open_;
  std::vector<MemoryLevels> levels_; // see levels_now()
  std::vector<SmallFlow> pending_;
  std::vector<std::int64_t> reserved_;
  std::uint64_t pinned_idle_ = 0;
  std::vector<MemoryPeaks*> peaks_; // by MemoryId: of `account_`, or null
  std::map<MemoryId, DeviceTimeline> devices_;
  std::size_t seen_ = 0;         // number of memories used so far
  Step from_{0};                 // the first whole step since the last gap
  Step updated_ = Step::none;    // the step whose update ended with this event
  bool awaits_backward_ = false; // a forward began, and neither a backward nor an update since
  trace::Ordinal now_ = 0;
};

} // namespace

bool Account::whole(Step step) const {
  if (step == Step::none) return detail.size() == 1;
  return std::any_of(detail.begin(), detail.end(),
                     [step](const StepSpan& span) { return span.first <= step && step <= span.last; });
}

Account account_phases(const trace::Trace& trace, Keyframes* keyframes, std::span<SideObserver* const> beside,
                       const WantedSteps& wanted) {
  Replay replay(trace);
  Attribution attribution(keyframes, wanted, trace.facts());
  if (keyframes != nullptr)
    keyframes->places().reached = [&](trace::Trace::Place place) {
      keyframes->reached(std::move(place), replay.ledger(), replay.phases());
    };
  const trace::OrderCounts counts =
      replay.run(attribution, keyframes == nullptr ? nullptr : &keyframes->places(), beside);
  attribution.result().counts = counts;
  attribution.result().left = replay.ledger().level(MemoryId{0}).live;
  return std::move(attribution).take();
}

} // namespace memtrace::replay
