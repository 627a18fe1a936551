// Purpose: a training run without end, as the recorder would see it, with its own account of the levels.
#include "training.h"

#include <algorithm>

namespace memtrace::tests {
namespace {

using format::EventType;
using format::halves;
using format::RingRecord;
using format::TextId;

constexpr std::uint64_t kStart = 5'000'000'000'000; // stamp of the process's start
constexpr std::uint32_t kMain = 0, kBackward = 1, kFirstWorker = 2, kWorkers = 4;
constexpr std::uint32_t kSites = 2500, kDepth = 12;
constexpr std::uint32_t kOps = 600;        // of a forward: two thirds of what they make stays for backward
constexpr std::uint32_t kParameters = 200; // tensors

} // namespace

Training::Training(Output& output, std::uint64_t pause, Rank rank)
    : output_(output), pause_(pause), stamp_(kStart), batches_(kWorkers) {
  RingRecord process = record(EventType::process, 0, 0);
  process.stamp = kStart;
  const TextId executable = text("/usr/bin/python3"), arguments = text(std::string("python\0train.py", 15));
  const TextId host = text("host"), directory = text("/");
  process.put(format::ProcessEvent{4242 + rank.number, 4200, 1'700'000'000'000'000'000, executable, arguments,
                                   host, directory, 4096, 512 * 1024, 4096});
  output_.define(process);
  if (rank.world != 0) {
    RingRecord job = record(EventType::job, 0, 0);
    job.stamp = kStart;
    job.put(format::JobEvent{text("job"), 1, rank.number, rank.number % 8, rank.world, text("torchrun")});
    output_.define(job);
  }
  define_stacks();
  setup();
}

std::uint64_t Training::random() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  return random_ ^= random_ << 17;
}

RingRecord Training::record(EventType type, std::uint8_t kind, std::uint16_t flags) {
  RingRecord record{};
  record.type = static_cast<std::uint8_t>(type);
  record.kind = kind;
  record.flags = flags;
  record.stamp = stamp_ += 500 + random() % 12'000;
  return record;
}

TextId Training::text(const std::string& text) {
  return output_.text(text, kStart);
}

// Stack ids 1 to kSites: chains of Python frames, each the caller of later ones.
void Training::define_stacks() {
  for (std::uint32_t id = 1; id <= kSites; ++id) {
    RingRecord code = record(EventType::code, 0, 0), stack = record(EventType::stack, 0, format::kPythonFrame);
    code.stamp = stack.stamp = kStart;
    const TextId function = text("function_" + std::to_string(id % 700));
    const TextId file = text("/usr/lib/python3/package/module_" + std::to_string(id % 60) + ".py");
    code.put(format::CodeEvent{format::CodeId{id}, id % 400, function, file});
    const std::uint32_t caller = id < kDepth ? id - 1 : static_cast<std::uint32_t>(1 + random() % (id - 1));
    stack.put(format::StackEvent{format::StackId{id}, format::StackId{caller}, halves(id, id % 400 + 3)});
    output_.define(code);
    output_.define(stack);
  }
}

// What a record brings of blocks too small for one of their own.
format::CarriedFlows Training::flows() {
  if (random() % 10 < 3) return {};
  const auto bytes = [this] { return static_cast<std::uint32_t>(64 + random() % 4000); };
  const auto count = [this] { return static_cast<std::uint32_t>(1 + random() % 40); };
  const std::uint32_t allocated = bytes();
  const auto freed = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes(), small_ += allocated));
  small_ -= freed;
  live.add(std::int64_t{allocated} - freed);
  const std::uint32_t births = count(), deaths = count();
  return {allocated, freed, births, deaths};
}

std::uint64_t Training::size_of(std::uint32_t site) const {
  // A batch's length changes some sizes a little from step to step.
  const std::uint64_t base = 4096 + (site * 2654435761u >> 12) / 8 * 8;
  return site % 3 == 0 ? base + steps_ % 16 * 64 : base;
}

Training::Block Training::born(std::uint32_t thread, std::uint32_t site, std::uint64_t asked,
                               bool tensor_block) {
  Block block{0, asked, tensor_block};
  auto& reusable = free_[(asked + 0xFFF) / 0x1000];
  if (reusable.empty()) {
    block.address = next_address_;
    next_address_ += (asked + 0x1FFF) / 0x1000 * 0x1000;
  } else {
    block.address = reusable.back();
    reusable.pop_back();
  }
  block.address |= 0x40;
  RingRecord birth = record(EventType::birth, static_cast<std::uint8_t>(format::Kind::heap),
                            tensor_block ? format::kTensor : std::uint16_t{0});
  birth.put(
      format::BirthEvent{block.address, block.given(), asked, format::StackId{1 + site % kSites}, {}, flows()});
  output_.put(thread, birth);
  live.add(static_cast<std::int64_t>(block.given()));
  if (tensor_block) tensor.add(static_cast<std::int64_t>(asked));
  return block;
}

void Training::died(std::uint32_t thread, const Block& block) {
  RingRecord death = record(EventType::death, static_cast<std::uint8_t>(format::Kind::heap),
                            block.tensor ? format::kTensor : std::uint16_t{0});
  death.put(format::DeathEvent{block.address, block.given(), {}, flows()});
  output_.put(thread, death);
  live.add(-static_cast<std::int64_t>(block.given()));
  if (block.tensor) tensor.add(-static_cast<std::int64_t>(block.asked));
  free_[(block.asked + 0xFFF) / 0x1000].push_back(block.address & ~std::uint64_t{0x40});
}

void Training::phase(std::uint32_t thread, EventType type, const std::string& name) {
  RingRecord mark = record(type, 0, format::kAuto);
  mark.put(format::PhaseBeginEvent{text(name), 0}); // the end of a phase has the same fields
  mark.type = static_cast<std::uint8_t>(type);
  output_.put(thread, mark);
}

void Training::sample() {
  RingRecord sample = record(EventType::sample_process, 0, 0);
  const auto level = static_cast<std::uint64_t>(live.now);
  sample.put(format::SampleProcessEvent{.anon = level / 4096 * 4096,
                                        .file = 200 << 20,
                                        .shmem = 0,
                                        .high_water = static_cast<std::uint64_t>(live.peak) + (200 << 20),
                                        .swap = 0,
                                        .page_tables = 0});
  output_.put(kMain, sample);
}

void Training::setup() {
  phase(kMain, EventType::phase_begin, "load");
  for (std::uint32_t i = 0; i < kParameters; ++i) born(kMain, i, size_of(i));
  phase(kMain, EventType::phase_end, "load");
  for (std::uint32_t i = 0; i < 2000; ++i) born(kMain, 2000 + i, 4096 + 16 * i, false); // what imports leave
}

// The loader's threads, now and then between the main thread's events.
void Training::workers() {
  if (random() % 32 != 0) return;
  const auto worker = static_cast<std::uint32_t>(random() % kWorkers);
  auto& batches = batches_[worker];
  if (batches.size() > 20) {
    died(kFirstWorker + worker, batches.front());
    batches.erase(batches.begin());
  } else {
    batches.push_back(born(kFirstWorker + worker, 1900 + worker, 65536 + worker * 4096, false));
  }
}

void Training::forward() {
  phase(kMain, EventType::phase_begin, "forward");
  Block temporary{};
  for (std::uint32_t op = 0; op < kOps; ++op) {
    workers();
    if (temporary.asked != 0) died(kMain, temporary);
    temporary = {};
    const Block made = born(kMain, 300 + op, size_of(op));
    if (op % 3 == 0) {
      temporary = made;
    } else {
      activations_.push_back(made);
    }
  }
  if (temporary.asked != 0) died(kMain, temporary);
  phase(kMain, EventType::phase_end, "forward");
}

void Training::backward() {
  phase(kMain, EventType::phase_begin, "backward");
  std::uint32_t op = 0;
  while (!activations_.empty()) {
    workers();
    const Block flow = born(kBackward, 1000 + op, size_of(op));
    if (op % 2 == 0) gradients_.push_back(born(kBackward, 1400 + op / 2, size_of(op / 2)));
    died(kBackward, activations_.back());
    activations_.pop_back();
    died(kBackward, flow);
    ++op;
  }
  phase(kMain, EventType::phase_end, "backward");
}

void Training::optimizer() {
  phase(kMain, EventType::phase_begin, "step");
  for (std::uint32_t i = 0; states_.size() < 2 * kParameters; ++i)
    states_.push_back(born(kMain, 1650 + i / 2, size_of(i / 2)));
  std::vector<Block> temporaries;
  for (std::uint32_t i = 0; i < kParameters; ++i) temporaries.push_back(born(kMain, 1860, size_of(i)));
  workers();
  for (const Block& block : temporaries) died(kMain, block);
  phase(kMain, EventType::phase_end, "step");
}

void Training::step() {
  stamp_ += pause_;
  phase(kMain, EventType::phase_begin, "data");
  const Block batch = born(kMain, 1890, 262'144);
  phase(kMain, EventType::phase_end, "data");
  forward();
  backward();
  optimizer();
  for (const Block& block : gradients_) died(kMain, block); // zero_grad
  gradients_.clear();
  died(kMain, batch);
  sample();
  if (++steps_ % 15 == 0) output_.drain();
}

void Training::finish() {
  RingRecord end = record(EventType::end, static_cast<std::uint8_t>(format::EndHow::exit), 0);
  output_.put(kMain, end);
  output_.drain();
}

} // namespace memtrace::tests
