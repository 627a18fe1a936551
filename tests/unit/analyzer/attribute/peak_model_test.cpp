// Purpose: what was alive at a peak, against a model that keeps everything and is too simple to be wrong.
#include "analyzer/attribute/peak_composition.h"

#include <map>
#include <random>
#include <tuple>

#include "folded.h"
#include "tests/unit/seed.h"

namespace memtrace::replay {
namespace {

using format::Kind;
using tests::Builder;
using tests::Folded;

// The model: every block in a list, mappings page by page.
struct Model {
  struct Held {
    std::uint64_t bytes, tensor;
    std::uint32_t stack;
    Kind kind;
    std::string phase;
  };
  using Key = std::tuple<std::uint32_t, Kind, std::string>;
  using Set = std::map<Key, std::uint64_t>;

  std::map<std::uint64_t, Held> blocks;
  std::map<std::uint64_t, Held> pages;
  std::int64_t small = 0;
  std::int64_t peak_live = 0, peak_tensor = 0;
  Set at_live, at_tensor;
  std::map<std::string, std::int64_t> phase_peak;
  std::vector<std::string> open;

  void look() {
    std::int64_t live = small;
    std::int64_t tensor = 0;
    Set lives;
    Set tensors;
    for (const auto* all : {&blocks, &pages}) {
      for (const auto& [address, held] : *all) {
        live += static_cast<std::int64_t>(held.bytes);
        tensor += static_cast<std::int64_t>(held.tensor);
        lives[{held.stack, held.kind, held.phase}] += held.bytes;
        if (held.tensor != 0) tensors[{held.stack, held.kind, held.phase}] += held.tensor;
      }
    }
    if (live > peak_live) peak_live = live, at_live = lives;
    if (tensor > peak_tensor) peak_tensor = tensor, at_tensor = tensors;
    for (const std::string& phase : open) {
      auto& peak = phase_peak.try_emplace(phase, live).first->second;
      peak = std::max(peak, live);
    }
  }
  std::string phase() const { return open.empty() ? "other" : open.back(); }
};

constexpr std::uint64_t kPage = 4096;

class Random {
 public:
  explicit Random(std::uint64_t seed) : random_(seed) {}

  void run(int events) {
    for (int i = 0; i < events; ++i) {
      one();
      model.look();
    }
  }
  Builder builder;
  Model model;

 private:
  std::uint64_t below(std::uint64_t end) {
    return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random_);
  }

  void one() {
    switch (below(8)) {
      case 0:
      case 1:
        birth();
        break;
      case 2:
        death();
        break;
      case 3:
        map();
        break;
      case 4:
        unmap();
        break;
      case 5:
        move();
        break;
      case 6:
        counters();
        break;
      default:
        mark();
    }
  }
  void birth() {
    const std::uint64_t address = 1 + below(60);
    const std::uint64_t bytes = 4096 + below(100000);
    const auto stack = static_cast<std::uint32_t>(1 + below(5));
    const bool tensor = below(2) == 0;
    if (tensor) {
      builder.tensor(address, bytes, stack);
    } else {
      builder.birth(address, bytes, Kind::heap, 0, stack);
    }
    model.blocks[address] = {tensor ? bytes + 8 : bytes, tensor ? bytes : 0, stack, Kind::heap, model.phase()};
  }
  void death() {
    const std::uint64_t address = 1 + below(60);
    builder.death(address);
    model.blocks.erase(address);
  }
  void move() {
    const std::uint64_t from = 1 + below(60);
    const auto at = model.blocks.find(from);
    if (at == model.blocks.end() || at->second.tensor != 0) return;
    const std::uint64_t to = 1 + below(60);
    const std::uint64_t bytes = 4096 + below(100000);
    builder.move(from, to, bytes, at->second.bytes);
    model.blocks.erase(at);
    model.blocks[to] = {bytes, 0, 0, Kind::heap, model.phase()};
  }
  void map() {
    const std::uint64_t first = 1000 + below(40);
    const std::uint64_t count = 1 + below(12);
    const auto stack = static_cast<std::uint32_t>(1 + below(5));
    builder.birth(first * kPage, count * kPage, Kind::mmap_anon, 0, stack);
    for (std::uint64_t i = first; i < first + count; ++i) {
      model.pages[i] = {kPage, 0, stack, Kind::mmap_anon, model.phase()};
    }
  }
  void unmap() {
    const std::uint64_t first = 1000 + below(40);
    const std::uint64_t count = 1 + below(12);
    builder.unmap(first * kPage, count * kPage, format::kReleased);
    for (std::uint64_t i = first; i < first + count; ++i) model.pages.erase(i);
  }
  void counters() {
    const std::uint64_t allocated = below(5000);
    builder.counters(allocated, 100, 1, 1);
    model.small += static_cast<std::int64_t>(allocated) - 100;
  }
  void mark() {
    static const char* const kNames[] = {"load", "a", "b"};
    if (!model.open.empty() && below(2) == 0) {
      builder.end(model.open.back());
      model.open.pop_back();
    } else if (model.open.size() < 3) {
      // Each phase gets a name of its own, so that a row is one occurrence.
      model.open.push_back(std::string(kNames[model.open.size()]) + std::to_string(serial_++));
      builder.begin(model.open.back());
    }
  }

  std::mt19937 random_;
  int serial_ = 0;
};

Model::Set sums(const Holdings& holdings, const Paths& paths) {
  Model::Set out;
  for (const Holding& h : holdings) {
    out[{static_cast<std::uint32_t>(h.stack), h.kind, paths.text(h.born_phase)}] += h.bytes;
  }
  return out;
}

TEST(Peak, AgreesWithTheModel) {
  const std::uint64_t first = tests::seed(1);
  for (std::uint64_t seed = first; seed < first + 60; ++seed) {
    Random random(seed);
    random.run(600);
    const Folded folded(random.builder, 50);
    const MemoryPeaks& peaks = folded.account.peaks.at(0);
    ASSERT_EQ(peaks.live.bytes, random.model.peak_live) << "seed " << seed;
    ASSERT_EQ(peaks.tensor.bytes, random.model.peak_tensor) << "seed " << seed;
    ASSERT_EQ(sums(folded.alive(Measure::live, peaks.live.at), folded.account.paths), random.model.at_live)
        << "seed " << seed;
    ASSERT_EQ(sums(folded.alive(Measure::tensor, peaks.tensor.at), folded.account.paths),
              random.model.at_tensor);
    for (const Row& row : folded.account.rows) {
      if (row.count == 0) continue;
      const std::string name = folded.account.paths.text(folded.account.paths.last(row.path));
      ASSERT_EQ(row.of(0).live.peak, random.model.phase_peak.at(name)) << name << ", seed " << seed;
    }
  }
}

TEST(Peak, SeveralInstantsInOnePassAreAsIfAskedForAlone) {
  Random random(tests::seed(99));
  random.run(800);
  const Folded folded(random.builder, 50);
  std::vector<Instant> instants;
  for (const Row& row : folded.account.rows) {
    if (row.count != 0) instants.push_back({0, Measure::live, row.of(0).live.peak_at});
  }
  ASSERT_GT(instants.size(), 10u);
  const auto together = alive_at(folded.trace(), instants, folded.account.last_step);
  for (const Instant& instant : instants) {
    const Holdings alone = folded.alive(Measure::live, instant.at);
    EXPECT_EQ(sums(together.at(instant), folded.account.paths), sums(alone, folded.account.paths));
  }
}

// What a holding shows, without the bytes that `sums` compares.
auto rest_of(const Holding& h) {
  return std::tuple(h.bytes, h.asked, h.blocks, h.largest, h.kind, h.role, h.tensor, h.stack, h.born_phase,
                    h.born_known, h.born_step, h.lifetime, h.sampled, h.resident, h.late, h.error, h.name,
                    h.born_stamp);
}

TEST(Peak, KeyframesGiveWhatTheModelAndTheWholePassGive) {
  const std::uint64_t first = tests::seed(7);
  for (std::uint64_t seed = first; seed < first + 4; ++seed) {
    Random random(seed);
    random.run(6000);
    const Folded folded(random.builder, 50);
    Keyframes keyframes(folded.trace());
    keyframes.set_stride(700);
    const Account account = account_phases(folded.trace(), &keyframes);
    ASSERT_GE(keyframes.frames().size(), 4u);
    std::vector<Instant> instants;
    for (const Row& row : account.rows) {
      if (row.count == 0) continue;
      instants.push_back({0, Measure::live, row.of(0).live.peak_at});
      instants.push_back({0, Measure::tensor, row.of(0).tensor.peak_at});
    }
    for (const auto& frame : keyframes.frames()) instants.push_back({0, Measure::live, frame->state.at()});
    const Instant live{0, Measure::live, account.peaks.at(0).live.at};
    const Instant tensor{0, Measure::tensor, account.peaks.at(0).tensor.at};
    instants.push_back(live);
    instants.push_back(tensor);
    const auto near = alive_at(folded.trace(), keyframes, instants, account.last_step);
    EXPECT_EQ(sums(near.at(live), account.paths), random.model.at_live) << "seed " << seed;
    EXPECT_EQ(sums(near.at(tensor), account.paths), random.model.at_tensor) << "seed " << seed;
    const auto whole = alive_at(folded.trace(), instants, account.last_step);
    ASSERT_EQ(near.size(), whole.size());
    for (const auto& [instant, alive] : whole) {
      const Holdings& found = near.at(instant);
      ASSERT_EQ(found.size(), alive.size());
      for (std::size_t i = 0; i < alive.size(); ++i) EXPECT_EQ(rest_of(found[i]), rest_of(alive[i]));
    }
  }
}

TEST(Peak, KeyframesAreDroppedIfThereAreTooMany) {
  Random random(tests::seed(3));
  random.run(40'000);
  const Folded folded(random.builder, 50);
  Keyframes keyframes(folded.trace());
  keyframes.set_stride(1); // one for each batch
  const Account account = account_phases(folded.trace(), &keyframes);
  EXPECT_LE(keyframes.frames().size(), 64u);
  EXPECT_GT(keyframes.places().stride, 1u);
  const Instant live{0, Measure::live, account.peaks.at(0).live.at};
  EXPECT_EQ(sums(alive_at(folded.trace(), keyframes, {live}, account.last_step).at(live), account.paths),
            random.model.at_live);
}

} // namespace
} // namespace memtrace::replay
