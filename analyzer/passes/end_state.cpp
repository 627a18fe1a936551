// Purpose: the state when a trace ended: levels, the last allocations, the levels over time.
#include "analyzer/passes/end_state.h"

#include <algorithm>
#include <map>

namespace memtrace::replay {
namespace {

using format::EventType;

constexpr std::size_t kBirths = 8;
constexpr std::size_t kMoments = 1024;

bool is_sample(EventType type) {
  using enum EventType;
  return type == sample_process || type == sample_cgroup || type == sample_charge || type == sample_limits ||
         type == sample_pressure || type == sample_machine || type == sample_address_space;
}

RecentBirth birth_of(const Block& block) {
  return {block.birth, block.birth_stamp, block.address, block.given, block.kind, block.stack, block.born};
}

void keep_later(std::optional<RecentBirth>& than, const Block& block) {
  if (!than || than->ordinal < block.birth) than = birth_of(block);
}

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

void EndStateCollector::born(const Block& block) {
  if (!block.counted) return;
  if (block.memory == 0) born_ += block.given;
  if (block.given < kLarge) return;
  std::deque<Large>& large = large_[block.memory];
  large.push_back({birth_of(block), born_});
  if (large.size() > kBirths) large.pop_front();
}

void EndStateCollector::after(const trace::Event& event, const PhasePosition& place) {
  last_.at = event.ordinal;
  last_.stamp = std::max(last_.stamp, event.stamp);
  if (event.type == EventType::counters) {
    born_ += event.as<format::CountersEvent>().flows.allocated;
  } else if (event.type != EventType::birth && event.type != EventType::death) {
    last_.samples.add(event);
    if (event.type == EventType::sample_process) sample(event);
    if (event.type == EventType::failure) refused(event, place);
    if (is_sample(event.type)) return;
  }
  last_.place = place;
  moment(event.stamp);
}

// Births before a gap between windows do not describe the end.
void EndStateCollector::cut(const trace::Event&) {
  large_.clear();
}

void EndStateCollector::finished() {
  last_.level = ledger().level(0);
  newest();
  last_.births = newest_first(0);
}

std::vector<RecentBirth> EndStateCollector::newest_first(MemoryId memory) const {
  std::vector<RecentBirth> out;
  const auto found = large_.find(memory);
  if (found == large_.end()) return out;
  for (auto large = found->second.rbegin(); large != found->second.rend(); ++large) out.push_back(large->birth);
  return out;
}

void EndStateCollector::refused(const trace::Event& event, const PhasePosition& place) {
  const auto memory = static_cast<MemoryId>(event.flags >> format::kMemoryShift);
  last_.refused = Refused{event.ordinal, place, ledger().level(memory), newest_first(memory)};
}

void EndStateCollector::newest() {
  ledger().each_alive([this](const Block& block) {
    if (block.memory != 0 || !block.counted || block.given < kLarge) return;
    keep_later(last_.newest, block);
    if (block.kind == format::Kind::shm) keep_later(last_.shared, block);
  });
  if (!last_.newest) return;
  last_.born_after_newest = born_;
  for (const Large& large : large_[0]) {
    if (large.birth.ordinal == last_.newest->ordinal) last_.born_after_newest = born_ - large.born;
  }
}

void EndStateCollector::sample(const trace::Event& event) {
  const auto sample = event.as<format::SampleProcessEvent>();
  last_.sampled.push_back({event.stamp, ledger().level(0), {sample.anon, sample.file, sample.shmem}});
  if (last_.sampled.size() > kMoments) last_.sampled.pop_front();
}

void EndStateCollector::moment(format::Stamp stamp) {
  const bool late = last_.late.empty() || stamp >= last_.late.back().stamp + kClose;
  if (late || last_.course.empty() || stamp >= last_.course.back().stamp + apart_) keep_moment(stamp);
}

// Separate from `moment`, which every event calls and which mostly ends at once.
[[gnu::noinline]] void EndStateCollector::keep_moment(format::Stamp stamp) {
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

} // namespace memtrace::replay
