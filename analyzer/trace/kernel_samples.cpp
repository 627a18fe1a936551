// Purpose: what the kernel reported while the process ran, and the allocations that failed, as one pass finds
// them.
#include "analyzer/trace/kernel_samples.h"

#include <algorithm>

#include "analyzer/trace/thinned_series.h"

namespace memtrace::trace {

using format::EventType;

namespace {

constexpr std::size_t kMostGroups = 256; // limits a hostile trace; others have a dozen

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

ProcessSample process_of(const Event& event) {
  const auto said = event.as<format::SampleProcessEvent>();
  return {event.stamp, is_near(event),  said.anon, said.file,
          said.shmem,  said.high_water, said.swap, said.page_tables};
}

ShareSample share_of(const Event& event) {
  const auto said = event.as<format::SampleShareEvent>();
  const auto known = [](std::uint64_t bytes) { return bytes == kNotSaid ? 0 : bytes; };
  return {event.stamp,          known(said.rss),       known(said.pss),          known(said.pss_anon),
          known(said.pss_file), known(said.pss_shmem), known(said.private_dirty)};
}

MachineSample machine_of(const Event& event) {
  const auto said = event.as<format::SampleMachineEvent>();
  return {event.stamp,    said.total,        said.available,    said.swap_total,
          said.swap_free, said.dev_shm_used, said.dev_shm_total};
}

AddressSpace address_space_of(const Event& event) {
  const auto said = event.as<format::SampleAddressSpaceEvent>();
  return {event.stamp, said.size, said.size_limit, said.data, said.data_limit, said.locked, said.locked_limit};
}

} // namespace

std::uint64_t GroupSample::held() const {
  const auto known = [](std::uint64_t bytes) { return bytes == kNotSaid ? 0 : bytes; };
  const std::uint64_t shared = std::min(known(shmem), file);
  const std::uint64_t kept = shared + std::min(known(dirty), file - shared);
  return charge - std::min(charge, file - kept);
}

void Samples::add(const Event& event) {
  switch (event.type) {
    case EventType::sample_process:
      process_ = process_of(event);
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
      machine_ = machine_of(event);
      if (!first_machine_) first_machine_ = machine_;
      if (!scarcest_machine_ || machine_->available < scarcest_machine_->available)
        scarcest_machine_ = machine_;
      break;
    case EventType::sample_node:
      node(event);
      break;
    case EventType::sample_address_space:
      address_space(address_space_of(event));
      break;
    case EventType::failure:
      failure(event);
      break;
    default:
      break;
  }
}

void Samples::address_space(const AddressSpace& space) {
  keep_last(address_spaces_, space);
  if (!largest_space_ || space.size > largest_space_->size) largest_space_ = space;
  if (!largest_data_ || space.data > largest_data_->data) largest_data_ = space;
}

const ProcessSample* Samples::process_at(format::Stamp stamp) const {
  const ProcessSample* found = nullptr;
  for (const ProcessSample& sample : processes_)
    if (sample.stamp <= stamp) found = &sample;
  return found;
}

SampledCgroup* Samples::at_level(unsigned level) {
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const SampledCgroup& group) {
    return group.level == level && !group.left;
  });
  return found == groups_.end() ? nullptr : &*found;
}

void Samples::group(const Event& event) {
  const auto said = event.as<format::SampleCgroupEvent>();
  const unsigned level = event.flags & 0xFF;
  if (SampledCgroup* const before = at_level(level); before != nullptr && before->path != said.path) {
    for (SampledCgroup& group : groups_) group.left = group.left || group.level >= level;
  }
  auto found = std::find_if(groups_.begin(), groups_.end(), [&](const SampledCgroup& group) {
    return group.path == said.path && group.level == level;
  });
  if (found == groups_.end()) {
    if (groups_.size() == kMostGroups) return;
    found = groups_.emplace(groups_.end());
    found->path = said.path;
    found->level = level;
  }
  SampledCgroup& group = *found;
  group.left = false;
  group.version_two = (event.flags & format::kVersionTwo) != 0;
  GroupSample sample;
  sample.stamp = event.stamp;
  sample.near = is_near(event);
  sample.charge = said.charge;
  sample.limit = said.limit;
  sample.anon = said.anon;
  sample.file = said.file;
  sample.oom_kills = said.oom_kills;
  if (!group.first) group.first = sample;
  if (!group.highest || sample.charge > group.highest->charge) group.highest = sample;
  group.last = sample;
  keep_last(group.late, sample);
}

// Completes a sample of a cgroup: this record follows the record of that sample.
void Samples::charge(const Event& event) {
  SampledCgroup* const group = at_level(event.flags & 0xFF);
  if (group == nullptr || !group->last || group->late.empty()) return;
  const auto said = event.as<format::SampleChargeEvent>();
  const format::Stamp of = group->last->stamp;
  for (GroupSample* sample : {&*group->first, &*group->highest, &*group->last, &group->late.back()}) {
    if (sample->stamp != of) continue;
    sample->shmem = said.shmem;
    sample->kernel = said.kernel;
    sample->swap = said.swap;
    sample->hugetlb = said.hugetlb;
    sample->page_tables = said.page_tables;
    sample->dirty = said.dirty;
  }
  if (!group->fullest || group->last->held() > group->fullest->held()) group->fullest = group->last;
}

void Samples::limits(const Event& event) {
  SampledCgroup* const group = at_level(event.flags & 0xFF);
  if (group == nullptr) return;
  const auto said = event.as<format::SampleLimitsEvent>();
  CgroupLimitSample limits{event.stamp, said.high, said.swap, said.highest, said.met, said.ooms, std::nullopt};
  if (said.kills_all < 2) limits.kills_all = said.kills_all == 1;
  if (!group->first_limits) group->first_limits = limits;
  group->limits = limits;
}

void Samples::pressure(const Event& event) {
  const unsigned level = event.flags & 0xFF;
  if (level >= format::kCountsOfLevel && level != format::kWholeMachine) {
    constexpr unsigned kFirst = format::SampleNumaEvent::kFirstLevel;
    if (level >= kFirst && level < format::kCountsOfProcess)
      numa_node(event, level - kFirst);
    else
      waits(event, level);
    return;
  }
  const auto [some, full] = event.as<format::SamplePressureEvent>();
  const Pressure pressure{event.stamp, percent(some.avg10), percent(full.avg10), some.total_us};
  if (level == format::kWholeMachine) {
    if (!first_pressure_) first_pressure_ = pressure;
    pressure_ = pressure;
  } else if (SampledCgroup* const group = at_level(level); group != nullptr) {
    if (!group->first_pressure) group->first_pressure = pressure;
    group->pressure = pressure;
  }
}

void Samples::numa_node(const Event& event, unsigned node) {
  const auto said = event.as<format::SampleNumaEvent>();
  if (!numa_now_.empty() && numa_now_.back().node >= node) numa_now_.clear(); // the next sample
  numa_now_.push_back({node, said.anon, said.file});
  const auto sum = [](const std::vector<NumaNode>& nodes) {
    std::uint64_t bytes = 0; // modulo 2^64: a damaged trace may have any figures
    for (const NumaNode& one : nodes) bytes += one.anon + one.file;
    return bytes;
  };
  if (sum(numa_now_) >= sum(numa_)) numa_ = numa_now_;
}

void Samples::waits(const Event& event, unsigned level) {
  const auto said = event.as<format::SampleWaitsEvent>();
  // A damaged trace may have any number of pages, so the bytes are modulo 2^64.
  const auto bytes = [](std::uint64_t pages) { return pages == kNotSaid ? kNotSaid : pages * format::kPage; };
  const WaitCounts counts{event.stamp, bytes(said.refaulted_pages), bytes(said.swapped_in_pages),
                          said.major_faults, said.throttled};
  SampledCgroup* const group =
      level == format::kCountsOfProcess ? nullptr : at_level(level - format::kCountsOfLevel);
  if (level != format::kCountsOfProcess && group == nullptr) return;
  std::optional<WaitCounts>& first = group == nullptr ? first_waits_ : group->first_waits;
  if (!first) first = counts;
  (group == nullptr ? waits_ : group->waits) = counts;
}

void Samples::node(const Event& event) {
  const auto pages = [](std::uint32_t count) { return std::uint64_t{count} * format::kPage; };
  const auto said = event.as<format::SampleNodeEvent>();
  if (!machine_ || machine_->total == kNotSaid) return;
  const NodeSample sample{event.stamp,
                          machine_->total,
                          said.free,
                          said.anon,
                          said.page_cache,
                          pages(said.shmem_pages),
                          pages(said.unwritten_pages),
                          said.kernel,
                          pages(said.page_table_pages),
                          pages(said.hugetlb_pages)};
  if (!fullest_node_ || sample.held() > fullest_node_->held()) fullest_node_ = sample;
  if (!node_with_least_free_ || sample.free < node_with_least_free_->free) node_with_least_free_ = sample;
}

void Samples::failure(const Event& event) {
  ++failed_;
  const auto said = event.as<format::FailureEvent>();
  Failure failure;
  failure.ordinal = event.ordinal;
  failure.stamp = event.stamp;
  failure.thread = event.thread;
  failure.kind = event.kind;
  failure.memory = event.flags >> format::kMemoryShift;
  failure.tensor = (event.flags & format::kTensor) != 0;
  failure.no_access = (event.flags & format::kNoAccess) != 0;
  failure.asked = said.asked;
  failure.code = said.code;
  failure.map_flags = said.map_flags;
  failure.stack = said.stack;
  failure.live = said.live;
  failure.free = said.free;
  failure.total = said.total;
  // A survey gives failures thread by thread, so they are put in order of their stamps.
  const auto later = [](const Failure& a, const Failure& b) { return a.stamp < b.stamp; };
  failure.last = failure.stamp;
  const auto before = std::find_if(failures_.rbegin(), failures_.rend(),
                                   [&](const Failure& one) { return one.thread == failure.thread; });
  if (failure.memory == 0 && before != failures_.rend() && before->asked == failure.asked &&
      before->memory == failure.memory && before->kind == failure.kind &&
      failure.stamp - before->last <= kFailAgain) {
    ++before->times;
    before->last = failure.stamp;
    return;
  }
  failures_.insert(std::upper_bound(failures_.begin(), failures_.end(), failure, later), failure);
  if (failures_.size() > kLate) failures_.pop_front();
}

} // namespace memtrace::trace
