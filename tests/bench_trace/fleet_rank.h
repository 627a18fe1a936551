// Purpose: the trace of one rank of a generated fleet, and the facts that it has by construction.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "output.h"
#include "preload/format/event_fields.h"

namespace memtrace::tests {

// What all ranks of a fleet share.
struct FleetPlan {
  std::string job = "fleet";
  std::uint32_t ranks = 0;
  std::uint32_t pp = 1;
  std::uint32_t tp = 1;
  std::uint32_t ranks_of_host = 8;
  std::uint32_t steps = 48;
  double hours = 72;
  std::uint64_t seed = 1;
  std::uint32_t dp() const { return ranks / pp / tp; }
};

// What was planted in one rank. Zeros: nothing.
struct Planted {
  std::uint32_t more_activations = 0; // percent
  std::uint64_t leak = 0;             // bytes of a step
  std::uint64_t rounding = 0;         // bytes of each block of activations that were not asked for
  bool half_memory = false;           // of the host
};

struct Place {
  std::uint32_t rank = 0, host = 0, pp = 0, dp = 0, tp = 0;
};
// The first axis varies slowest: pp, dp, tp.
Place place_of(const FleetPlan& plan, std::uint32_t rank);
std::string host_name(std::uint32_t host);
std::uint64_t host_memory(bool half);
std::uint64_t activations_of_step(std::uint32_t percent); // bytes, without noise

// Writes all records of a rank. Sizes differ a little from rank to rank and from step to step.
class FleetRank {
 public:
  FleetRank(Output& output, const FleetPlan& plan, Place place, Planted planted);
  void run();

  static constexpr std::uint64_t kLayers = 4; // of each stage
  static std::string file_name(const FleetPlan& plan, const Place& place);
  static constexpr const char* kLeakLine = "/home/user/train.py:88";
  static constexpr const char* kActivationLine = "/home/user/model.py:41";

  std::int64_t peak() const { return peak_; }

 private:
  struct Block {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  std::uint64_t random();
  std::uint64_t noisy(std::uint64_t bytes, std::uint64_t parts);
  format::RingRecord record(format::EventType type, std::uint16_t flags = 0);
  format::TextId text(const std::string& text);
  format::StackId stack(const std::vector<std::pair<std::string, std::string>>& frames);
  void note(const std::string& text);

  Block born(format::StackId stack, std::uint64_t bytes, std::uint64_t rounding = 0);
  void died(const Block& block);
  void label(const Block& block, const std::string& role, const std::string& name);
  void phase(format::EventType type, const std::string& name);
  void sample();

  void facts();
  void load();
  void step(std::uint32_t number);
  void forward();
  void backward();
  void update();

  Output& output_;
  FleetPlan plan_;
  Place place_;
  Planted planted_;
  std::uint64_t random_;
  std::uint64_t stamp_;
  std::int64_t live_ = 0;
  std::int64_t peak_ = 0;
  std::uint64_t next_address_ = 0x7F0000000000;
  std::map<std::uint64_t, std::vector<std::uint64_t>> free_; // addresses by size, reused
  std::map<std::string, std::uint32_t> frames_;              // ids of code and of stacks
  std::map<std::string, std::uint32_t> codes_;
  std::vector<Block> parameters_, activations_, gradients_, states_;
};

} // namespace memtrace::tests
