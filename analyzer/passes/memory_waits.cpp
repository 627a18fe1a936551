// Purpose: what the steps of training lost to a lack of memory: pages read again, page faults, stalls.
#include "analyzer/passes/memory_waits.h"

#include <algorithm>

#include "analyzer/trace/kernel_samples.h"

namespace memtrace::replay {
namespace {

using trace::kNotSaid;

constexpr std::uint64_t kEnoughSteps = 4; // between two samples

// The counts of one instant. Each is the newest that was sampled by then.
struct CountsNow {
  std::optional<trace::WaitCounts> group, own;
  std::optional<trace::Pressure> of_group, of_machine;
};

const trace::SampledCgroup* own_group(const trace::Samples& samples) {
  for (const trace::SampledCgroup& group : samples.groups())
    if (group.level == 0 && !group.left) return &group;
  return nullptr;
}

// Returns the increase of a count. A process that was moved to another cgroup has lower counts: 0 then.
std::uint64_t more(std::uint64_t before, std::uint64_t now) {
  return before == kNotSaid || now == kNotSaid || now < before ? 0 : now - before;
}

std::optional<std::uint64_t> stalled(const std::optional<trace::Pressure>& before,
                                     const std::optional<trace::Pressure>& now) {
  if (!before || !now) return std::nullopt;
  return more(before->some_us, now->some_us) * 1000;
}

class WaitPass : public Observer {
 public:
  void after(const trace::Event& event, const PhasePosition&) override {
    using enum format::EventType;
    if (event.type == birth && event.kind == format::Kind::mmap_file) follow(event.as<format::BirthEvent>());
    if (event.type != sample_cgroup && event.type != sample_charge && event.type != sample_pressure) return;
    samples_.add(event);
    if (event.type != sample_pressure) return;
    const trace::SampledCgroup* const group = own_group(samples_);
    if (group == nullptr || !group->waits) return;
    now_ = {group->waits, samples_.waits(), group->pressure, samples_.pressure()};
    if (!before_ || phases().step() == Step::none) {
      if (!first_) first_ = now_;
      before_ = now_;
      return;
    }
    if (first_in_step_ == Step::none) {
      first_in_step_ = phases().step();
      in_step_ = now_;
    }
    waits_.last = phases().step();
    for (const trace::SampledCgroup& one : samples_.groups())
      if (one.last) hold(one, *one.last);
    fill();
  }

  std::optional<MemoryWaits> take() {
    if (!before_) return std::nullopt;
    if (first_in_step_ == Step::none) { // without steps, the whole run
      before_ = first_;
      for (const trace::SampledCgroup& group : samples_.groups())
        if (group.fullest) hold(group, *group.fullest);
      fill();
    }
    return waits_;
  }

 private:
  void follow(const format::BirthEvent& mapping) {
    if (mapping.given <= waits_.mapped) return;
    waits_.mapped = mapping.given;
    waits_.mapped_by = mapping.stack;
  }

  void hold(const trace::SampledCgroup& group, const trace::GroupSample& sample) {
    std::uint64_t& most = waits_.held[group.path];
    most = std::max(most, sample.held());
  }

  // The last sample before training is up to a second older. With a cold cache, the imports of that second were
  // a tenth of the figure. So the counts begin in the first sampled step where enough steps follow.
  void choose_start() {
    const auto steps_until = [this](Step first) {
      return static_cast<std::uint64_t>(waits_.last) - static_cast<std::uint64_t>(first);
    };
    if (first_in_step_ == Step::none) return;
    waits_.first = first_in_step_;
    if (steps_until(first_in_step_) < kEnoughSteps) return;
    waits_.first = next(first_in_step_);
    before_ = in_step_;
  }

  void fill() {
    choose_start();
    const trace::WaitCounts &group = *now_.group, &start = *before_->group;
    waits_.from = start.stamp;
    waits_.until = group.stamp;
    waits_.refaulted = more(start.refaulted, group.refaulted);
    waits_.swapped_in = more(start.swapped_in, group.swapped_in);
    waits_.throttled = more(start.throttled, group.throttled);
    waits_.all_faults = more(start.major_faults, group.major_faults);
    if (before_->own && now_.own)
      waits_.major_faults = more(before_->own->major_faults, now_.own->major_faults);
    waits_.stalled = stalled(before_->of_group, now_.of_group);
    waits_.stalled_in_group = waits_.stalled.has_value();
    if (!waits_.stalled) waits_.stalled = stalled(before_->of_machine, now_.of_machine);
  }

  trace::Samples samples_;
  std::optional<CountsNow> first_, before_; // of the run; where the counts begin
  Step first_in_step_ = Step::none;         // the step of the first sample in training
  CountsNow now_, in_step_;                 // that sample
  MemoryWaits waits_;
};

} // namespace

std::optional<MemoryWaits> memory_waits(const trace::Trace& trace) {
  Replay replay(trace);
  WaitPass pass;
  replay.run(pass);
  return pass.take();
}

} // namespace memtrace::replay
