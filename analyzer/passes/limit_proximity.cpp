// Purpose: how near the first steps came to the limit of a cgroup.
#include "analyzer/passes/limit_proximity.h"

#include <algorithm>

#include "analyzer/trace/kernel_samples.h"

namespace memtrace::replay {
namespace {

class Looking : public Observer {
 public:
  explicit Looking(Step last) : last_(last) {}

  void after(const trace::Event& event, const PhasePosition&) override {
    const bool sample =
        event.type == format::EventType::sample_cgroup || event.type == format::EventType::sample_charge;
    if (!sample) return;
    samples_.add(event);
    const Step step = phases().step();
    if (step == Step::none || step > last_) return;
    for (const trace::SampledCgroup& group : samples_.groups())
      if (!group.left && group.last && group.last->limit != trace::kNotSaid) look(group, step);
  }
  std::optional<Nearest> nearest;

 private:
  void look(const trace::SampledCgroup& group, Step step) {
    const trace::GroupSample& sample = *group.last;
    const std::uint64_t shmem = sample.shmem == trace::kNotSaid ? 0 : std::min(sample.shmem, sample.file);
    const Nearest now{step, sample.charge - std::min(sample.charge, sample.file - shmem), sample.limit,
                      group.path};
    const auto share = [](const Nearest& of) {
      return static_cast<double>(of.used) / static_cast<double>(std::max<std::uint64_t>(of.limit, 1));
    };
    if (!nearest || share(now) > share(*nearest)) nearest = now;
  }

  Step last_;
  trace::Samples samples_;
};

} // namespace

std::optional<Nearest> nearest_limit(const trace::Trace& trace, Step last) {
  Replay replay(trace);
  Looking looking(last);
  replay.run(looking);
  return looking.nearest;
}

} // namespace memtrace::replay
