// Purpose: an address -> the module that is mapped there.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/decode/definitions.h"

namespace memtrace::trace {

// Of two modules at one address the one that was recorded later. What it points to has to outlive it.
class ModuleMap {
 public:
  ModuleMap(const Definitions& definitions, std::uint64_t page_bytes);

  const Module* at(std::uint64_t address) const; // null: none is known

 private:
  struct ModuleRange { // up to the next one
    std::uint64_t first;
    const Module* module; // or null
  };
  std::vector<ModuleRange> ranges_; // ascending
};

} // namespace memtrace::trace
