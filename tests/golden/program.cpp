// Purpose: the training that the golden trace tells of: a model of eight parameters, six steps of AdamW, a
// device.
#include "program.h"

#include <string>
#include <vector>

#include "tests/unit/sizes.h"

namespace memtrace::tests {

using format::halves;
using format::kMemoryShift;
using format::kTensor;
using Block = Writer::Block;

namespace {

constexpr std::uint64_t kModule = 0x7E0000000000;
constexpr std::uint16_t kCuda = 1 << kMemoryShift;

struct Sites {
  std::uint32_t import, load, batch, forward, backward, optimizer, worker;
};

Sites define_all(Writer& w) {
  const std::uint32_t exe = w.text("/usr/bin/python3.11");
  const std::uint32_t argv = w.text(std::string("python3\0/home/user/train.py\0--token\0***\0", 39));
  const std::uint32_t host = w.text("node-1"), cwd = w.text("/home/user");
  const std::uint32_t job = w.text("20231114-221320-4242"), launcher = w.text("torchrun");
  w.define(
      EventType::process, 0,
      {halves(4242, 4200), Writer::kUnix, halves(exe, argv), halves(host, cwd), 4096, halves(524288, 4096)});
  w.define(EventType::job, 0, {halves(job, 1), halves(0, 0), halves(1, launcher)});
  w.define(EventType::module, 20,
           {halves(1, w.text("/opt/example/lib/libexample_cpu.so")), kModule, kModule, halves(256, 0x14131211),
            0x0807060504030201, 0x100F0E0D0C0B0A09});
  const std::string train = "/home/user/train.py";
  const std::uint32_t main = w.python("main", train, 40, 0);
  const std::uint32_t step = w.python("train_step", train, 24, main);
  Sites sites{};
  sites.import = w.python("<module>", "/opt/example/lib/example/__init__.py", 3, main);
  sites.load = w.python("Linear.__init__", "/opt/example/lib/example/nn.py", 17, main);
  sites.batch = w.python("__next__", "/opt/example/lib/example/data.py", 88, step);
  sites.forward = w.native(kModule + 0x1234, w.python("forward", "/opt/example/lib/example/nn.py", 31, step));
  sites.backward =
      w.native(kModule + 0x5678, w.python("backward", "/opt/example/lib/example/autograd.py", 9, step));
  sites.optimizer = w.python("step", "/opt/example/lib/example/adamw.py", 52, step);
  sites.worker = w.native(kModule + 0x9ABC, 0);
  return sites;
}

void import(Writer& w, const Sites& sites) {
  w.put(0, EventType::thread, 0, 0, {halves(0, 4242), 0x6E69616D, 0});
  w.small(3 * kMiB, kMiB / 2);
  const Block table = w.born(200'000, sites.import);
  const Block grown = w.moved(table, 400'000, sites.import);
  w.born(5 * kMiB, sites.import, Kind::mmap_file);
  w.died(grown);
}

std::vector<Block> load(Writer& w, const Sites& sites) {
  w.put(1, EventType::note, 0, 0, {w.text("kind=main")});
  std::vector<Block> parameters;
  w.begin("load");
  for (int i = 0; i < 8; ++i) parameters.push_back(w.born(4 * kMiB, sites.load, Kind::heap, kTensor));
  w.put(1, EventType::label, 0, 0,
        {parameters[0].address, parameters[0].asked, halves(w.text("parameter"), w.text("lm_head.weight"))});
  w.put(1, EventType::parameters, 0, 0, {8 * kMiB, 8 * kMiB, 32 * kMiB, 8});
  w.put(1, EventType::parameter_dtype, 0, 0, {w.text("float32"), 8 * kMiB});
  w.end("load");
  // A heap that glibc reserves and opens in part.
  Block arena = w.born(64 * kMiB, 0, Kind::mmap_anon, format::kNoAccess);
  arena.given = 2 * kMiB;
  w.opened(arena);
  w.put(1, EventType::device, 0, kCuda,
        {w.text("Example GPU"), 0x1111, 0x2222, std::uint64_t{80} << 30, w.text("hooks")});
  w.born(20 * kMiB, sites.load, Kind::device, kCuda);
  return parameters;
}

void sample(Writer& w, std::uint64_t step) {
  w.put(0, EventType::sample_process, 0, 0, {(150 + step) * kMiB, 30 * kMiB, 0, (180 + step) * kMiB, 0, kMiB});
  w.put(0, EventType::sample_cgroup, 0, 0,
        {w.text("/sys/fs/cgroup/example"), (200 + step) * kMiB, std::uint64_t{8} << 30, 150 * kMiB, 40 * kMiB,
         0});
  w.put(0, EventType::sample_charge, 0, 0,
        {10 * kMiB, 6 * kMiB, 0, format::kNotSaid, kMiB + step * 4096, 2 * kMiB});
  if (step != 0) return;
  w.put(0, EventType::sample_limits, 0, 0,
        {format::kNotSaid, std::uint64_t{8} << 30, 220 * kMiB, 0, 0, format::kNotSaid});
  w.put(0, EventType::sample_pressure, 0, format::kWholeMachine,
        {halves(150, 20), 5'000'000, halves(0, 0), 1'000'000});
  w.put(0, EventType::sample_machine, 0, 0,
        {std::uint64_t{64} << 30, std::uint64_t{60} << 30, 0, 0, 3 * kMiB, std::uint64_t{32} << 30});
  w.put(0, EventType::sample_address_space, 0, 0,
        {500 * kMiB, format::kNotSaid, 300 * kMiB, format::kNotSaid, 0, 8 * kMiB});
}

// One that failed, and went on without.
void refused(Writer& w, const Sites& sites) {
  w.put(
      1, EventType::failure, static_cast<std::uint8_t>(Kind::device), kCuda,
      {std::uint64_t{90} << 30, 2, sites.forward, 20 * kMiB, std::uint64_t{70} << 30, std::uint64_t{80} << 30});
  w.put(2, EventType::failure, static_cast<std::uint8_t>(Kind::heap), 0,
        {std::uint64_t{1} << 46, halves(12, 0), sites.worker, 60 * kMiB, format::kNotSaid, format::kNotSaid});
}

void train(Writer& w, const Sites& sites, std::vector<Block>& states, std::uint64_t step) {
  w.begin("data");
  const Block batch = w.born(kMiB, sites.batch, Kind::heap, kTensor);
  w.end("data");
  w.begin("forward");
  std::vector<Block> activations, gradients, temporaries;
  for (std::uint64_t i = 0; i < 3; ++i)
    activations.push_back(w.born(2 * kMiB, sites.forward, Kind::heap, kTensor));
  const Block cached = w.born(6 * kMiB, sites.forward, Kind::none, static_cast<std::uint16_t>(kTensor | kCuda));
  w.small(40'000, 30'000);
  w.end("forward");
  w.wait(1'000'000);
  w.begin("backward");
  for (std::uint64_t i = 3; i-- > 0;) {
    w.died(activations[i]);
    gradients.push_back(w.born(4 * kMiB, sites.backward, Kind::heap, kTensor));
  }
  w.died(cached);
  w.end("backward");
  w.begin("step");
  if (step == 0) {
    for (int i = 0; i < 16; ++i) states.push_back(w.born(4 * kMiB, sites.optimizer, Kind::heap, kTensor));
  }
  for (int i = 0; i < 8; ++i) temporaries.push_back(w.born(4 * kMiB, sites.optimizer, Kind::heap, kTensor));
  for (const Block& block : temporaries) w.died(block);
  w.end("step");
  for (const Block& block : gradients) w.died(block);
  w.died(batch);
  const Block other = w.born(100'000 + step, sites.worker, Kind::heap, 0, 2);
  w.small(6400, 6400, 2);
  if (step % 2 == 0) w.died(other, 2);
  sample(w, step);
  w.wait(5'000'000);
}

} // namespace

void write_program(Writer& w) {
  const Sites sites = define_all(w);
  import(w, sites);
  w.cut(format::Source::cold);
  const std::vector<Block> parameters = load(w, sites);
  w.cut(format::Source::ring);
  std::vector<Block> states;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    train(w, sites, states, step);
    w.cut(format::Source::ring);
  }
  refused(w, sites);
  for (const Block& block : parameters) w.died(block);
  w.put(1, EventType::end, static_cast<std::uint8_t>(format::EndHow::exit), 0, {0});
  w.cut(format::Source::ring);
}

} // namespace memtrace::tests
