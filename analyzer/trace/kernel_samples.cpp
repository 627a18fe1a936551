// Purpose: what the kernel said while the process ran, and what it refused: the samples and failures of one
// pass.
#include "analyzer/trace/kernel_samples.h"

#include <algorithm>

#include "analyzer/trace/thinned_series.h"

namespace memtrace::trace {

using format::EventType;
using format::high;
using format::low;

namespace {

constexpr std::size_t kMostGroups = 256; // of a trace that is not hostile: a dozen

template <class T>
void keep_last(std::deque<T>& list, const T& value) {
  list.push_back(value);
  if (list.size() > Samples::kLate) list.pop_front();
}

double percent(std::uint32_t hundredths) {
  return hundredths / 100.0;
}

bool is_near(const Event& event) {
  return (event.flags & format::kNearLimit) != 0;
}

ShareSample share_of(const Event& event) {
  const auto known = [&](std::size_t i) { return event.word[i] == kNotSaid ? 0 : event.word[i]; };
  return {event.stamp, known(0), known(1), known(2), known(3), known(4), known(5)};
}

} // namespace

void Samples::add(const Event& event) {
  const auto& word = event.word;
  switch (event.type) {
    case EventType::sample_process:
      ++taken_;
      if (is_near(event)) ++taken_near_;
      process_ =
          ProcessSample{event.stamp, is_near(event), word[0], word[1], word[2], word[3], word[4], word[5]};
      keep_thinned(processes_, *process_);
      break;
    case EventType::sample_share:
      keep_thinned(shares_, share_of(event));
      break;
    case EventType::sample_cgroup:
      group(event);
      break;
    case EventType::sample_charge:
      charge(event);
      break;
    case EventType::sample_limits:
      limits(event);
      break;
    case EventType::sample_pressure:
      pressure(event);
      break;
    case EventType::sample_machine:
      machine_ = MachineSample{event.stamp, word[0], word[1], word[2], word[3], word[4], word[5]};
      if (!first_machine_) first_machine_ = machine_;
      break;
    case EventType::sample_node:
      node(event);
      break;
    case EventType::sample_address_space:
      keep_last(address_spaces_, {event.stamp, word[0], word[1], word[2], word[3], word[4], word[5]});
      break;
    case EventType::failure:
      failure(event);
      break;
    default:
      break;
  }
}

const ProcessSample* Samples::process_at(format::Stamp stamp) const {
  const ProcessSample* found = nullptr;
  for (const ProcessSample& sample : processes_)
    if (sample.stamp <= stamp) found = &sample;
  return found;
}

Group* Samples::at_level(unsigned level) {
  const auto found = std::find_if(groups_.begin(), groups_.end(),
                                  [&](const Group& group) { return group.level == level && !group.left; });
  return found == groups_.end() ? nullptr : &*found;
}

void Samples::group(const Event& event) {
  const unsigned level = event.flags & 0xFF;
  const format::TextId path{low(event.word[0])};
  if (Group* const before = at_level(level); before != nullptr && before->path != path) {
    for (Group& group : groups_) group.left = group.left || group.level >= level;
  }
  auto found = std::find_if(groups_.begin(), groups_.end(),
                            [&](const Group& group) { return group.path == path && group.level == level; });
  if (found == groups_.end()) {
    if (groups_.size() == kMostGroups) return;
    found = groups_.emplace(groups_.end());
    found->path = path;
    found->level = level;
  }
  Group& group = *found;
  group.left = false;
  group.version_two = (event.flags & format::kVersionTwo) != 0;
  GroupSample sample;
  sample.stamp = event.stamp;
  sample.near = is_near(event);
  sample.charge = event.word[1];
  sample.limit = event.word[2];
  sample.anon = event.word[3];
  sample.file = event.word[4];
  sample.oom_kills = event.word[5];
  if (!group.first) group.first = sample;
  if (!group.highest || sample.charge > group.highest->charge) group.highest = sample;
  group.last = sample;
  keep_last(group.late, sample);
}

// Follows the record of the sample that it completes.
void Samples::charge(const Event& event) {
  Group* const group = at_level(event.flags & 0xFF);
  if (group == nullptr || !group->last || group->late.empty()) return;
  const format::Stamp of = group->last->stamp;
  for (GroupSample* sample : {&*group->first, &*group->highest, &*group->last, &group->late.back()}) {
    if (sample->stamp != of) continue;
    sample->shmem = event.word[0];
    sample->kernel = event.word[1];
    sample->swap = event.word[2];
    sample->hugetlb = event.word[3];
    sample->page_tables = event.word[4];
    sample->dirty = event.word[5];
  }
}

void Samples::limits(const Event& event) {
  Group* const group = at_level(event.flags & 0xFF);
  if (group == nullptr) return;
  GroupLimits limits{event.stamp,   event.word[0], event.word[1], event.word[2],
                     event.word[3], event.word[5], std::nullopt};
  if (low(event.word[4]) < 2) limits.kills_all = low(event.word[4]) == 1;
  if (!group->first_limits) group->first_limits = limits;
  group->limits = limits;
}

void Samples::pressure(const Event& event) {
  const auto& word = event.word;
  const Pressure said{event.stamp,
                      percent(low(word[0])),
                      percent(high(word[0])),
                      percent(low(word[2])),
                      percent(high(word[2])),
                      word[1],
                      word[3]};
  const unsigned level = event.flags & 0xFF;
  if (level == format::kWholeMachine) {
    pressure_ = said;
  } else if (Group* const group = at_level(level); group != nullptr) {
    group->pressure = said;
  }
}

void Samples::node(const Event& event) {
  const auto pages = [](std::uint32_t count) { return std::uint64_t{count} * format::kPage; };
  const auto& word = event.word;
  if (!machine_ || machine_->total == kNotSaid) return;
  const NodeSample sample{event.stamp,
                          machine_->total,
                          word[0],
                          word[1],
                          word[2],
                          pages(format::low(word[3])),
                          pages(format::high(word[3])),
                          word[4],
                          pages(format::low(word[5])),
                          pages(format::high(word[5]))};
  if (!fullest_node_ || sample.held() > fullest_node_->held()) fullest_node_ = sample;
}

void Samples::failure(const Event& event) {
  ++failed_;
  Failure failure;
  failure.ordinal = event.ordinal;
  failure.stamp = event.stamp;
  failure.thread = event.thread;
  failure.kind = event.kind;
  failure.memory = event.flags >> format::kMemoryShift;
  failure.tensor = (event.flags & format::kTensor) != 0;
  failure.no_access = (event.flags & format::kNoAccess) != 0;
  failure.asked = event.word[0];
  failure.code = low(event.word[1]);
  failure.map_flags = high(event.word[1]);
  failure.stack = format::StackId{low(event.word[2])};
  failure.live = event.word[3];
  failure.free = event.word[4];
  failure.total = event.word[5];
  // A survey gives them thread by thread.
  const auto later = [](const Failure& a, const Failure& b) { return a.stamp < b.stamp; };
  failures_.insert(std::upper_bound(failures_.begin(), failures_.end(), failure, later), failure);
  if (failures_.size() > kLate) failures_.pop_front();
}

} // namespace memtrace::trace
