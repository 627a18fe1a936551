// Purpose: a training run without end, as the recorder would see it, with its own account of the levels.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "output.h"
#include "preload/format/event_fields.h"

namespace memtrace::tests {

struct Level {
  std::int64_t now = 0;
  std::int64_t peak = 0;
  void add(std::int64_t bytes) {
    now += bytes;
    if (now > peak) peak = now;
  }
};

// About 3,000 births and deaths of tensors a step by the main thread and the one that runs backward, a few of
// the loader's by workers; small flows in most records. The same in every run.
class Training {
 public:
  struct Rank {
    std::uint32_t number = 0;
    std::uint32_t world = 0; // 0: the process is not a rank
  };
  // `pause`: ns without events after each step.
  explicit Training(Output& output, std::uint64_t pause = 0, Rank rank = {0, 0});

  void step();
  void finish();

  std::uint64_t steps() const { return steps_; }
  Level live;
  Level tensor;

 private:
  struct Block {
    std::uint64_t address = 0;
    std::uint64_t asked = 0;
    bool tensor = false;
    std::uint64_t given() const { return asked + 8; }
  };
  format::TextId text(const std::string& text);
  void define_stacks();
  void setup();
  void forward();
  void backward();
  void optimizer();
  void workers();

  std::uint64_t random();
  std::uint64_t size_of(std::uint32_t site) const;
  format::RingRecord record(format::EventType type, std::uint8_t kind, std::uint16_t flags);
  format::CarriedFlows flows();
  Block born(std::uint32_t thread, std::uint32_t site, std::uint64_t asked, bool tensor = true);
  void died(std::uint32_t thread, const Block& block);
  void phase(std::uint32_t thread, format::EventType type, const std::string& name);
  void sample();

  Output& output_;
  std::uint64_t pause_;
  std::uint64_t random_ = 88172645463325252u;
  std::uint64_t stamp_;
  std::uint64_t steps_ = 0;
  std::uint64_t small_ = 0; // bytes in blocks too small for a record
  std::uint64_t next_address_ = 0x7F0000000000;
  std::map<std::uint64_t, std::vector<std::uint64_t>> free_; // addresses by size, used again last first
  std::vector<Block> activations_;
  std::vector<Block> gradients_;
  std::vector<Block> states_;
  std::vector<std::vector<Block>> batches_; // by worker
};

} // namespace memtrace::tests
