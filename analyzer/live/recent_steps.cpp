// Purpose: the last steps, their phases and the newest large allocations, event by event.
#include "analyzer/live/recent_steps.h"

#include <algorithm>

namespace memtrace::live {
namespace {

using format::EventType;

constexpr std::uint64_t kLargeBytes = 1 << 20;
constexpr std::size_t kMostOpen = 256; // phases; more are of threads that each have their own

void raise(Levels& levels, std::size_t memory, std::int64_t bytes) {
  if (levels.size() <= memory) levels.resize(memory + 1);
  levels[memory] = std::max(levels[memory], bytes);
}

bool changes_levels(EventType type) {
  return type == EventType::birth || type == EventType::death || type == EventType::counters ||
         type == EventType::move || type == EventType::protect;
}

bool is_of_program(EventType type) {
  return changes_levels(type) || type == EventType::phase_begin || type == EventType::phase_end ||
         type == EventType::step;
}

} // namespace

Levels RecentSteps::levels() const {
  Levels out;
  for (std::size_t i = 0; i < memories_; ++i) out.push_back(ledger().level(static_cast<MemoryId>(i)).live);
  return out;
}

std::int64_t RecentSteps::inner_level(std::size_t memory) const {
  const replay::Level& level = ledger().level(static_cast<MemoryId>(memory));
  return memory != 0 && with_tensors_.contains(memory) ? level.tensor : level.live;
}

Levels RecentSteps::inner_levels() const {
  Levels out;
  for (std::size_t i = 0; i < memories_; ++i) out.push_back(inner_level(i));
  return out;
}

void RecentSteps::step_begins(Step step) {
  if (step == now_) return;
  if (now_ != Step::none) {
    last_ = std::move(present_);
    whole_ = now_;
  }
  present_.clear();
  now_ = step;
  const Levels at = levels();
  steps_.push_back({step, last_stamp_, at, at});
  if (steps_.size() > kSteps) steps_.pop_front();
}

void RecentSteps::began(const replay::Occurrence& occurrence) {
  step_begins(occurrence.step);
  if (open_.size() >= kMostOpen) return;
  const Levels at = inner_levels();
  open_.push_back({occurrence.id, occurrence.path, occurrence.step, at, at});
}

void RecentSteps::close(const LiveOccurrence& open) {
  if (open.step != now_ && open.step != whole_) return;
  PathFigures& figures = (open.step == now_ ? present_ : last_)[open.path];
  const Levels exit = inner_levels();
  for (std::size_t i = 0; i < exit.size(); ++i) {
    const std::int64_t entry = level_in(open.entry, i), peak = std::max(level_in(open.peak, i), exit[i]);
    raise(figures.peak, i, peak);
    raise(figures.transient, i, peak - std::max(entry, exit[i]));
    if (figures.net.size() <= i) figures.net.resize(i + 1);
    figures.net[i] += exit[i] - entry;
  }
}

void RecentSteps::ended(const replay::Occurrence& occurrence, bool) {
  const auto at = std::find_if(open_.rbegin(), open_.rend(),
                               [&](const LiveOccurrence& open) { return open.id == occurrence.id; });
  if (at == open_.rend()) return;
  close(*at);
  open_.erase(std::next(at).base());
}

// On a GPU, tensors lie inside the segments that the driver gave, and tell more than these.
void RecentSteps::born(const replay::Block& block) {
  const bool counts = block.memory == 0 ? block.counted : block.tensor;
  if (block.memory != 0 && block.tensor) with_tensors_.insert(block.memory);
  const std::uint64_t bytes = block.memory == 0 ? block.given : block.tensor_bytes();
  if (!counts || bytes < kLargeBytes) return;
  auto at = std::find_if(large_.begin(), large_.end(), [&](const LargeBirth& known) {
    return known.stack == block.stack && known.memory == block.memory;
  });
  const std::uint64_t times = at == large_.end() ? 1 : at->times + 1;
  if (at == large_.end()) {
    if (large_.size() < kLarge) large_.emplace_back();
    at = std::prev(large_.end());
  }
  std::rotate(large_.begin(), at, std::next(at));
  large_.front() = {block.stack, block.memory, bytes, times, block.birth_stamp, block.born};
}

void RecentSteps::note_use(const trace::Event& event) {
  const std::size_t memory = event.flags >> format::kMemoryShift;
  const std::uint64_t used = event.as<format::SampleDeviceEvent>().used;
  if (memory == 0 || used == format::kNotSaid) return;
  device_uses_[memory] = {used, ledger().level(static_cast<MemoryId>(memory)).live};
}

void RecentSteps::after(const trace::Event& event, const replay::PhasePosition& place) {
  last_stamp_ = std::max(last_stamp_, event.stamp);
  if (event.type == EventType::step) step_begins(phases().step());
  if (event.type == EventType::sample_process) {
    sampled_.push_back({event.stamp, ledger().level(0).live});
    if (sampled_.size() > kSampled) sampled_.pop_front();
  }
  if (event.type == EventType::sample_device) note_use(event);
  if (!is_of_program(event.type)) return;
  place_ = place;
  if (!changes_levels(event.type)) return;
  const std::size_t memory = event.flags >> format::kMemoryShift;
  memories_ = std::max(memories_, memory + 1);
  const std::int64_t live = ledger().level(static_cast<MemoryId>(memory)).live;
  if (!steps_.empty() && live > level_in(steps_.back().peak, memory)) raise(steps_.back().peak, memory, live);
  const std::int64_t inner = inner_level(memory);
  for (LiveOccurrence& open : open_)
    if (inner > level_in(open.peak, memory)) raise(open.peak, memory, inner);
}

void RecentSteps::cut(const trace::Event&) {
  steps_.clear();
  open_.clear();
  present_.clear();
  last_.clear();
  large_.clear();
  sampled_.clear();
  now_ = whole_ = Step::none;
}

} // namespace memtrace::live
