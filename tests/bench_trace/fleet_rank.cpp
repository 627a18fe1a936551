// Purpose: the trace of one rank of a generated fleet, and the facts that it has by construction.
#include "fleet_rank.h"

#include <algorithm>
#include <cstdio>

namespace memtrace::tests {
namespace {

using format::EventType;
using format::halves;
using format::RingRecord;
using format::StackId;

constexpr std::uint64_t kMib = 1 << 20, kGib = 1 << 30;
constexpr std::uint64_t kStart = 5'000'000'000'000;        // stamp of the process's start
constexpr std::uint64_t kUnix = 1'700'000'000'000'000'000; // Unix time at that stamp
constexpr std::uint64_t kLayers = FleetRank::kLayers;
constexpr std::uint64_t kLayer = 48 * kMib, kEmbedding = 256 * kMib;
constexpr std::uint64_t kActivation = 192 * kMib; // of a layer
constexpr std::uint64_t kLibraries = 350 * kMib;  // resident and no allocation
constexpr std::uint64_t kHostMemory = 512 * kGib;
constexpr std::uint32_t kFirstPid = 1000;

} // namespace

Place place_of(const FleetPlan& plan, std::uint32_t rank) {
  return {rank, rank / plan.ranks_of_host, rank / plan.tp / plan.dp(), rank / plan.tp % plan.dp(),
          rank % plan.tp};
}

std::string host_name(std::uint32_t host) {
  char name[16];
  std::snprintf(name, sizeof name, "node-%03u", host);
  return name;
}

std::uint64_t host_memory(bool half) {
  return half ? kHostMemory / 2 : kHostMemory;
}

std::uint64_t activations_of_step(std::uint32_t percent) {
  return kLayers * kActivation * (100 + percent) / 100;
}

std::string FleetRank::file_name(const FleetPlan& plan, const Place& place) {
  char name[64];
  std::snprintf(name, sizeof name, "%s-%u-%llx.memtrace", host_name(place.host).c_str(),
                kFirstPid + place.rank % plan.ranks_of_host,
                static_cast<unsigned long long>(kUnix + place.rank));
  return name;
}

FleetRank::FleetRank(Output& output, const FleetPlan& plan, Place place, Planted planted)
    : output_(output),
      plan_(plan),
      place_(place),
      planted_(planted),
      random_((plan.seed << 20 ^ (place.rank + 1)) * 0x9E3779B97F4A7C15),
      stamp_(kStart) {}

std::uint64_t FleetRank::random() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  return random_ ^= random_ << 17;
}

// Returns the bytes, larger by at most 1 / parts, in whole pages.
std::uint64_t FleetRank::noisy(std::uint64_t bytes, std::uint64_t parts) {
  return (bytes + random() % (bytes / parts)) / 4096 * 4096;
}

RingRecord FleetRank::record(EventType type, std::uint16_t flags) {
  RingRecord record{};
  record.type = static_cast<std::uint8_t>(type);
  record.flags = flags;
  record.stamp = stamp_ += 1000 + random() % 100'000;
  return record;
}

format::TextId FleetRank::text(const std::string& text) {
  return output_.text(text, kStart);
}

// Returns the stack of "file:line", function pairs, the outermost first.
StackId FleetRank::stack(const std::vector<std::pair<std::string, std::string>>& frames) {
  std::uint32_t id = 0;
  std::string path;
  for (const auto& [place, function] : frames) {
    path += "\n" + place;
    const auto [at, fresh] = frames_.try_emplace(path, static_cast<std::uint32_t>(frames_.size() + 1));
    if (fresh) {
      const std::size_t colon = place.rfind(':');
      const std::string file = place.substr(0, colon);
      const auto line = static_cast<std::uint32_t>(std::stoul(place.substr(colon + 1)));
      const auto [code, new_code] =
          codes_.try_emplace(file + function, static_cast<std::uint32_t>(codes_.size() + 1));
      if (new_code) {
        RingRecord made{};
        made.stamp = kStart;
        made.put(format::CodeEvent{format::CodeId{code->second}, 1, text(function), text(file)});
        output_.define(made);
      }
      RingRecord made{};
      made.stamp = kStart;
      made.flags = format::kPythonFrame;
      made.put(format::StackEvent{StackId{at->second}, StackId{id}, halves(code->second, line)});
      output_.define(made);
    }
    id = at->second;
  }
  return StackId{id};
}

void FleetRank::note(const std::string& fact) {
  RingRecord note = record(EventType::note);
  note.put(format::NoteEvent{text(fact), 0});
  output_.put(0, note);
}

FleetRank::Block FleetRank::born(StackId stack, std::uint64_t bytes, std::uint64_t rounding) {
  Block block{0, bytes};
  auto& reusable = free_[bytes];
  if (reusable.empty()) {
    block.address = next_address_;
    next_address_ += bytes + 4096;
  } else {
    block.address = reusable.back();
    reusable.pop_back();
  }
  RingRecord birth = record(EventType::birth, format::kTensor);
  birth.kind = static_cast<std::uint8_t>(format::Kind::heap);
  birth.put(format::BirthEvent{block.address, bytes, bytes - rounding, stack, {}, {}});
  output_.put(0, birth);
  live_ += static_cast<std::int64_t>(bytes);
  peak_ = std::max(peak_, live_);
  return block;
}

void FleetRank::died(const Block& block) {
  RingRecord death = record(EventType::death, format::kTensor);
  death.kind = static_cast<std::uint8_t>(format::Kind::heap);
  death.put(format::DeathEvent{block.address, block.bytes, {}, {}});
  output_.put(0, death);
  live_ -= static_cast<std::int64_t>(block.bytes);
  free_[block.bytes].push_back(block.address);
}

void FleetRank::label(const Block& block, const std::string& role, const std::string& name) {
  RingRecord label = record(EventType::label);
  label.put(format::LabelEvent{block.address, block.bytes, text(role), text(name), {}, 0});
  output_.put(0, label);
}

void FleetRank::phase(EventType type, const std::string& name) {
  RingRecord mark = record(type, format::kAuto);
  mark.put(format::PhaseBeginEvent{text(name), 0}); // the end of a phase has the same fields
  mark.type = static_cast<std::uint8_t>(type);
  output_.put(0, mark);
}

void FleetRank::sample() {
  const auto anon = static_cast<std::uint64_t>(live_) + noisy(8 * kMib, 8);
  RingRecord process = record(EventType::sample_process);
  process.put(
      format::SampleProcessEvent{.anon = anon,
                                 .file = kLibraries,
                                 .shmem = 0,
                                 .high_water = static_cast<std::uint64_t>(peak_) + kLibraries + 9 * kMib,
                                 .swap = 0,
                                 .page_tables = anon / 512});
  output_.put(0, process);
  const std::uint64_t total = host_memory(planted_.half_memory);
  const std::uint64_t all = plan_.ranks_of_host * (anon + 40 * kMib);
  RingRecord group = record(EventType::sample_cgroup, format::kVersionTwo);
  group.put(format::SampleCgroupEvent{.path = text("/job"),
                                      .unused = 0,
                                      .charge = all,
                                      .limit = total / 8 * 7,
                                      .anon = all,
                                      .file = 2 * kGib,
                                      .oom_kills = 0});
  output_.put(0, group);
  RingRecord machine = record(EventType::sample_machine);
  machine.put(format::SampleMachineEvent{.total = total,
                                         .available = total - all - 6 * kGib,
                                         .swap_total = 0,
                                         .swap_free = 0,
                                         .dev_shm_used = 0,
                                         .dev_shm_total = total / 2});
  output_.put(0, machine);
  RingRecord node = record(EventType::sample_node);
  node.put(format::SampleNodeEvent{.free = total - all - 10 * kGib,
                                   .anon = all,
                                   .page_cache = noisy(4 * kGib, 16),
                                   .shmem_pages = 4096,
                                   .unwritten_pages = 16,
                                   .kernel = kGib,
                                   .page_table_pages = 4096,
                                   .hugetlb_pages = 0});
  output_.put(0, node);
}

void FleetRank::facts() {
  RingRecord process = record(EventType::process);
  process.stamp = kStart;
  process.put(format::ProcessEvent{kFirstPid + place_.rank % plan_.ranks_of_host, 999, kUnix + place_.rank,
                                   text("/usr/bin/python3"), text(std::string("python\0train.py", 15)),
                                   text(host_name(place_.host)), text("/home/user"), 4096, 512 * 1024, 4096});
  output_.define(process);
  RingRecord job = record(EventType::job);
  job.stamp = kStart;
  job.put(format::JobEvent{text(plan_.job), 1, place_.rank, place_.rank % plan_.ranks_of_host, plan_.ranks,
                           text("torchrun")});
  output_.define(job);
  note("coordinates=pp=" + std::to_string(place_.pp) + ",dp=" + std::to_string(place_.dp) +
       ",tp=" + std::to_string(place_.tp));
}

void FleetRank::load() {
  phase(EventType::phase_begin, "load");
  const StackId layer = stack({{"/home/user/train.py:30", "main"}, {"/home/user/model.py:12", "build"}});
  const auto make = [&](std::uint64_t bytes, const std::string& name) {
    parameters_.push_back(born(layer, bytes));
    label(parameters_.back(), "parameter", name);
  };
  if (place_.pp == 0) make(kEmbedding, "embedding.weight");
  for (std::uint64_t i = 0; i < kLayers; ++i) make(kLayer, "layers." + std::to_string(i) + ".weight");
  phase(EventType::phase_end, "load");
  RingRecord model = record(EventType::parameters);
  const std::uint64_t bytes = static_cast<std::uint64_t>(live_);
  model.put(format::ParametersEvent{bytes / 4, bytes / 4, bytes, parameters_.size()});
  output_.put(0, model);
  sample();
}

void FleetRank::forward() {
  phase(EventType::phase_begin, "forward");
  const StackId line = stack({{"/home/user/train.py:52", "main"}, {kActivationLine, "forward"}});
  for (std::uint64_t i = 0; i < kLayers; ++i)
    activations_.push_back(born(line,
                                noisy(kActivation, 128) * (100 + planted_.more_activations) / 100 / 4096 * 4096,
                                planted_.rounding));
  if (planted_.leak != 0) born(stack({{"/home/user/train.py:52", "main"}, {kLeakLine, "log"}}), planted_.leak);
  phase(EventType::phase_end, "forward");
}

void FleetRank::backward() {
  phase(EventType::phase_begin, "backward");
  const StackId line = stack({{"/home/user/train.py:54", "main"}});
  for (const Block& parameter : parameters_) gradients_.push_back(born(line, parameter.bytes));
  sample();
  for (; !activations_.empty(); activations_.pop_back()) died(activations_.back());
  phase(EventType::phase_end, "backward");
}

void FleetRank::update() {
  phase(EventType::phase_begin, "step");
  if (states_.empty()) {
    const StackId line = stack({{"/home/user/train.py:55", "main"}});
    for (const Block& parameter : parameters_) {
      states_.push_back(born(line, 2 * parameter.bytes));
      label(states_.back(), "optimizer_state", "exp_avg");
    }
  }
  phase(EventType::phase_end, "step");
  for (; !gradients_.empty(); gradients_.pop_back()) died(gradients_.back());
}

void FleetRank::step(std::uint32_t number) {
  const double each = plan_.hours * 3600e9 / plan_.steps;
  const auto begin = kStart + static_cast<std::uint64_t>(each * number);
  stamp_ = std::max(stamp_, begin + random() % 1'000'000'000);
  phase(EventType::phase_begin, "data");
  const Block batch = born(stack({{"/home/user/train.py:50", "main"}}), noisy(2 * kMib, 16));
  phase(EventType::phase_end, "data");
  forward();
  backward();
  update();
  died(batch);
  sample();
}

void FleetRank::run() {
  facts();
  load();
  for (std::uint32_t i = 0; i < plan_.steps; ++i) step(i);
  stamp_ = std::max(stamp_, kStart + static_cast<std::uint64_t>(plan_.hours * 3600e9));
  RingRecord end = record(EventType::end);
  end.kind = static_cast<std::uint8_t>(format::EndHow::exit);
  output_.put(0, end);
  output_.drain();
}

} // namespace memtrace::tests
