// Purpose: a forked worker that ran long and was killed: its trace file, a window after a gap, rows, rings.
#include "long_run.h"

#include <algorithm>
#include <vector>

#include "builder.h"
#include "preload/format/rollup_layout.h"
#include "tests/unit/sizes.h"
#include "window_files.h"

namespace memtrace::tests {
namespace {

using format::halves;
using format::kMemoryShift;
using format::kTensor;

constexpr std::uint16_t kCuda = 1 << kMemoryShift;
constexpr std::uint64_t kFolded = 500; // records of the thread whose window was dropped

constexpr std::uint8_t heap = static_cast<std::uint8_t>(Kind::heap);
constexpr std::uint8_t anonymous = static_cast<std::uint8_t>(Kind::mmap_anon);

// As the child begins, and what it is told once.
void begin(Builder& b, std::uint32_t site) {
  b.put(EventType::thread, 0, 0, {halves(0, 4242), 0x6E69616D, 0});
  b.fork(100 * kMiB, 40 * kMiB).put(EventType::reset, 0, 0, {});
  b.note("kind=worker").note("pids=4026531836");
  b.put(EventType::exec, 0, 0, {b.text("/usr/bin/nothing")}).note("exec=failed");
  b.put(EventType::device, 0, kCuda, {b.text("Example GPU"), 1, 2, std::uint64_t{80} << 30, b.text("hooks")});
  b.begin("load").tensor(0x1000, 64 * kMiB, site);
  b.birth(0x40000000, 32 * kMiB, Kind::mmap_anon, 0, site);
  b.put(EventType::advise, 0, 0, {0x40000000, 16 * kMiB, 4}); // MADV_DONTNEED
  b.end("load");
}

void sample(Builder& b) {
  b.sample(180 * kMiB, 20 * kMiB, kMiB, 210 * kMiB);
  b.put(EventType::sample_share, 0, 0, {200 * kMiB, 150 * kMiB, 140 * kMiB, 9 * kMiB, kMiB, 120 * kMiB});
  b.put(EventType::sample_machine, 0, 0,
        {std::uint64_t{64} << 30, std::uint64_t{60} << 30, 0, 0, 3 * kMiB, std::uint64_t{32} << 30});
  b.put(EventType::sample_node, 0, 0,
        {std::uint64_t{50} << 30, std::uint64_t{4} << 30, std::uint64_t{8} << 30, halves(256, 16), 100 * kMiB,
         halves(512, 0)});
  b.put(EventType::sample_touched, 0, 0, {0x40000000, b.now() - 2000, 32 * kMiB, 16 * kMiB, b.now() - 1000});
  b.put(EventType::sample_ledger, 0, format::kLedgerAsked,
        {201 * kMiB, 210 * kMiB, 0, kMiB, halves(900, 1500), b.now()});
  const auto row = [&b](format::LedgerRow which, std::uint64_t resident, std::uint64_t given,
                        std::uint64_t parts) {
    b.put(EventType::sample_resident, 0,
          static_cast<std::uint16_t>(static_cast<unsigned>(which) << format::kRowShift),
          {resident, given, parts});
  };
  row(format::LedgerRow::tensors, 64 * kMiB, 64 * kMiB, 1);
  row(format::LedgerRow::heap, 90 * kMiB, 96 * kMiB, 1000);
  row(format::LedgerRow::anonymous, 16 * kMiB, 32 * kMiB, 1);
  row(format::LedgerRow::code, 20 * kMiB, 30 * kMiB, 40);
  row(format::LedgerRow::own, 3 * kMiB, 4 * kMiB, 2);
}

void train(Builder& b, std::uint64_t step, std::uint32_t site) {
  const std::uint64_t batch = 0x10000000 + step * 0x1000000, cached = 0x700000000000 + step * 0x1000000;
  b.put(EventType::step, 0, 0, {step});
  b.begin("forward").tensor(batch, 8 * kMiB, site);
  b.birth(cached, 0, Kind::none, kTensor | kCuda, site, 6 * kMiB);
  b.put(EventType::reserved, 0, kCuda, {6 * kMiB, 20 * kMiB});
  b.put(EventType::sample_device, 0, kCuda,
        {500 * kMiB, 900 * kMiB, std::uint64_t{80} << 30, 400 * kMiB, kMiB, 1});
  b.end("forward").begin("backward").death(cached, 0, Kind::none, kTensor | kCuda).tensor_death(batch);
  b.end("backward").begin("step").end("step").wait(1'000'000);
}

// What was so when the window began, within forward of step 5: the batch of that step, what load made, and what
// late records are about.
std::string snapshot_of(Builder& b, std::uint32_t site, std::uint64_t loaded) {
  const std::uint32_t load = b.text("load"), forward = b.text("forward");
  const std::uint64_t now = b.now();
  return snapshot({
      record_of(EventType::window, 0, 0, {halves(3, 6), now, halves(0, 1), 1}, now),
      record_of(EventType::level, 0, 0, {207 * kMiB, 112 * kMiB, 0, 2 * kMiB}, now),
      record_of(EventType::level, 0, kCuda, {20 * kMiB, 6 * kMiB, 20 * kMiB, 0}, now),
      record_of(EventType::flows, 0, 0, {0, 30 * kMiB, 28 * kMiB, 1000, 900}, now),
      record_of(EventType::open_phase, 0, format::kAuto, {halves(0, forward), halves(0, 6), now}, now),
      record_of(EventType::held, heap, kTensor,
                {0x1000, 64 * kMiB + 8, 64 * kMiB, site, halves(load, 0), loaded}, now),
      record_of(EventType::held, anonymous, 0,
                {0x40000000, 32 * kMiB, 32 * kMiB, site, halves(load, 0), loaded}, now),
      record_of(EventType::held, heap, kTensor,
                {0x15000000, 8 * kMiB + 8, 8 * kMiB, site, halves(forward, 6), now - 500}, now),
      record_of(EventType::displaced, heap, 0, {0x60000000, kMiB, kMiB, site, now - 300, now - 400}, now),
      record_of(EventType::early_death, heap, 0, {0x61000000, kMiB, 0, 0, 0, now - 200}, now),
  });
}

// Of steps 0 to 4, whose events are gone.
std::string rows(Builder& b, std::uint32_t site) {
  format::RollupHalf half{};
  half.phase_width = half.site_width = 8;
  half.first_step = 0;
  half.last_step = 4;
  format::PhaseRow phase{};
  phase.steps = 5;
  phase.path = b.text("forward");
  const auto figure = [&phase](format::Figure which, std::int64_t most, std::int64_t least) {
    phase.figures[static_cast<std::size_t>(which)] = {most, least};
  };
  figure(format::Figure::live_entry, 198 * kMiB, 198 * kMiB);
  figure(format::Figure::live_exit, 206 * kMiB, 206 * kMiB);
  figure(format::Figure::live_peak, 207 * kMiB, 206 * kMiB);
  figure(format::Figure::tensor_entry, 104 * kMiB, 104 * kMiB);
  figure(format::Figure::tensor_exit, 112 * kMiB, 112 * kMiB);
  figure(format::Figure::tensor_peak, 112 * kMiB, 112 * kMiB);
  figure(format::Figure::allocated, 8 * kMiB, 8 * kMiB);
  figure(format::Figure::allocations, 1, 1);
  figure(format::Figure::count, 1, 1);
  format::SiteRow made{};
  made.path = phase.path;
  made.stack = site;
  made.kind = heap;
  made.flags = kTensor;
  made.count = 5;
  made.sum = 40 * kMiB;
  made.min = made.max = 8 * kMiB;
  return rollup_file(half, {phase}, {made}, 0, kFolded, 3 * kMiB);
}

} // namespace

std::map<std::string, std::string> long_run() {
  Builder b;
  const std::uint32_t site = b.python_frame("__getitem__", "/home/user/data.py", 12, 0);
  begin(b, site);
  const std::uint64_t loaded = b.now();
  sample(b);
  b.put(EventType::coarse, heap, 0, {halves(site, b.text("other")), halves(0, 3), 4, 400'000, 90'000, 110'000});
  const std::size_t head = b.records(0).size();
  b.wait(1'000'000'000);
  const std::string states = snapshot_of(b, site, loaded);
  b.end("forward").begin("backward").tensor_death(0x15000000).end("backward").begin("step").end("step");
  const std::uint64_t from = b.now();
  b.death(0x60000000, kMiB)
      .birth(0x61000000, kMiB); // late records: one of the displaced block, one of the dead one
  b.wait(from + 2'000'000 - b.now());
  for (std::uint64_t step = 6; step < 9; ++step) train(b, step, site);
  const std::size_t drained = b.records(0).size();
  b.begin("forward").tensor(0x19000000, 16 * kMiB, site);
  const std::vector<RingRecord>& all = b.records(0);
  const auto part = [&all](std::size_t first, std::size_t last) {
    return std::vector<RingRecord>(all.begin() + static_cast<std::ptrdiff_t>(first),
                                   all.begin() + static_cast<std::ptrdiff_t>(last));
  };
  RingSlotContent slot;
  slot.tail = drained + kFolded;
  slot.records = part(drained, all.size());
  std::map<std::string, std::string> out;
  out[".coarse"] = rows(b, site);
  out[".rings"] = ring_file({slot});
  out[".window-2"] = states + encode(part(head, drained), 0, Source::ring, head + kFolded);
  out[".memtrace"] = b.definitions() + b.segment(0, 0, head);
  return out;
}

} // namespace memtrace::tests
