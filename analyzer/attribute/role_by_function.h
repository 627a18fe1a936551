// Purpose: what a block is for, told from the function of a framework that made it.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "analyzer/replay/roles.h"
#include "analyzer/trace/trace.h"

namespace memtrace::replay {

class Makers {
 public:
  explicit Makers(const trace::Trace& trace) : definitions_(trace.definitions()) {}

  // Of functions that make memory for one purpose alone; else unknown. One look at each frame.
  Role role(format::StackId stack);

 private:
  std::optional<Role> of_code(std::uint32_t code);

  const trace::Definitions& definitions_;
  std::unordered_map<std::uint32_t, Role> stacks_;
  std::unordered_map<std::uint32_t, std::optional<Role>> codes_;
};

} // namespace memtrace::replay
