// Purpose: what the rollup asks of its host, for tests: memory, whose bytes it counts and can refuse, and
// texts.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "preload/rollup/host_interface.h"

namespace memtrace::tests {

struct World {
  std::map<std::uint32_t, std::string> texts;   // names
  std::map<std::uint32_t, std::string> defined; // what the room defined
  std::set<std::uint32_t> gone;                 // threads that record no more
  std::size_t bytes = 0;                        // mapped
  std::size_t most = ~std::size_t{0};           // that may be
};
extern World world; // of the running test; cleared by host()

rollup::Host host();

// Zeroed pages for a STEM.coarse.
class RollupFile {
 public:
  explicit RollupFile(std::size_t bytes) : words_(bytes / 8) {}
  void* memory() { return words_.data(); }
  std::size_t bytes() const { return words_.size() * 8; }

 private:
  std::vector<std::uint64_t> words_;
};

} // namespace memtrace::tests
