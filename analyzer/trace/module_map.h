// Purpose: finds the module that is mapped at an address.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/decode/definitions.h"

namespace memtrace::trace {

// If two modules are at one address, the one that was recorded later counts. `definitions` must outlive the
// map.
class ModuleMap {
 public:
  ModuleMap(const Definitions& definitions, std::uint64_t page_bytes);

  const Module* at(std::uint64_t address) const; // null: no module is known there

 private:
  struct ModuleRange { // ends where the next range begins
    std::uint64_t first;
    const Module* module; // null: no module
  };
  std::vector<ModuleRange> ranges_; // ascending
};

} // namespace memtrace::trace
