// Purpose: the state when a trace ended: levels, the last allocations, the levels over time.
#include "analyzer/passes/end_state.h"

#include <algorithm>
#include <map>

namespace memtrace::replay {
namespace {

using format::EventType;

constexpr std::size_t kBirths = 8;
constexpr std::size_t kMoments = 1024;
constexpr std::uint64_t kClose = 2'000'000; // ns between two late moments

bool is_sample(EventType type) {
  using enum EventType;
  return type == sample_process || type == sample_cgroup || type == sample_charge || type == sample_limits ||
         type == sample_pressure || type == sample_machine || type == sample_address_space;
}

class LastState : public Observer {
 public:
  EndState take() && { return std::move(last_); }

  void born(const Block& block) override {
    if (!block.counted) return;
    if (block.memory == 0) born_ += block.given;
    if (block.given < kLarge) return;
    std::deque<Large>& large = large_[block.memory];
    large.push_back({birth_of(block), born_});
    if (large.size() > kBirths) large.pop_front();
  }

  void after(const trace::Event& event, const PhasePosition& place) override {
    last_.samples.add(event);
    last_.at = event.ordinal;
    last_.stamp = std::max(last_.stamp, event.stamp);
    if (event.type == EventType::sample_process) sample(event);
    if (event.type == EventType::counters) born_ += event.as<format::CountersEvent>().flows.allocated;
    if (event.type == EventType::failure) refused(event, place);
    if (is_sample(event.type)) return;
    last_.place = place;
    moment(event.stamp);
  }

  // Births before a gap between windows do not describe the end.
  void cut(const trace::Event&) override { large_.clear(); }

  void finished() override {
    last_.level = ledger().level(0);
    newest();
    last_.births = newest_first(0);
  }

 private:
  struct Large {
    RecentBirth birth;
    std::uint64_t born; // bytes of all births up to and including this one
  };

  static RecentBirth birth_of(const Block& block) {
    return {block.birth, block.birth_stamp, block.address, block.given, block.kind, block.stack, block.born};
  }
  static void later(std::optional<RecentBirth>& than, const Block& block) {
    if (!than || than->ordinal < block.birth) than = birth_of(block);
  }

  std::vector<RecentBirth> newest_first(MemoryId memory) const {
    std::vector<RecentBirth> out;
    const auto found = large_.find(memory);
    if (found == large_.end()) return out;
    for (auto large = found->second.rbegin(); large != found->second.rend(); ++large)
      out.push_back(large->birth);
    return out;
  }

  void refused(const trace::Event& event, const PhasePosition& place) {
    const auto memory = static_cast<MemoryId>(event.flags >> format::kMemoryShift);
    last_.refused = Refused{event.ordinal, place, ledger().level(memory), newest_first(memory)};
  }

  void newest() {
    ledger().each_alive([this](const Block& block) {
      if (block.memory != 0 || !block.counted || block.given < kLarge) return;
      later(last_.newest, block);
      if (block.kind == format::Kind::shm) later(last_.shared, block);
    });
    if (!last_.newest) return;
    last_.born_after_newest = born_;
    for (const Large& large : large_[0]) {
      if (large.birth.ordinal == last_.newest->ordinal) last_.born_after_newest = born_ - large.born;
    }
  }

  void sample(const trace::Event& event) {
    const auto sample = event.as<format::SampleProcessEvent>();
    last_.sampled.push_back({event.stamp, ledger().level(0), {sample.anon, sample.file, sample.shmem}});
    if (last_.sampled.size() > kMoments) last_.sampled.pop_front();
  }

  void moment(format::Stamp stamp) {
    const Moment now{stamp, ledger().level(0), {}};
    if (last_.late.empty() || stamp >= last_.late.back().stamp + kClose) {
      last_.late.push_back(now);
      if (last_.late.size() > kMoments) last_.late.pop_front();
    }
    if (!last_.course.empty() && stamp < last_.course.back().stamp + apart_) return;
    last_.course.push_back(now);
    if (last_.course.size() < kMoments) return;
    for (std::size_t i = 0; i < kMoments / 2; ++i) last_.course[i] = last_.course[2 * i];
    last_.course.resize(kMoments / 2);
    apart_ *= 2;
  }

  EndState last_;
  std::map<MemoryId, std::deque<Large>> large_; // the last large births, in order
  std::uint64_t born_ = 0;                      // bytes of all births on the host
  std::uint64_t apart_ = kClose;
};

template <class Moments>
const Moment* latest(const Moments& moments, format::Stamp until) {
  const Moment* found = nullptr;
  for (const Moment& moment : moments) {
    if (moment.stamp <= until && (found == nullptr || moment.stamp >= found->stamp)) found = &moment;
  }
  return found;
}

} // namespace

const Moment* EndState::before(format::Stamp instant) const {
  const Moment* const found = latest(late, instant);
  return found != nullptr ? found : latest(course, instant);
}

const Moment* EndState::sample_before(format::Stamp instant) const {
  return latest(sampled, instant);
}

EndState collect_end_state(const trace::Trace& trace) {
  Replay replay(trace);
  LastState state;
  replay.run(state);
  return std::move(state).take();
}

} // namespace memtrace::replay
