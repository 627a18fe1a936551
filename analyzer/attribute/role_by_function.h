// Purpose: the role of a block, inferred from the framework's function that made it.
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

  // Returns the role if a function in the stack makes memory for only one purpose; else unknown. Each frame is
  // examined once.
  Role role(format::StackId stack);

 private:
  std::optional<Role> of_code(std::uint32_t code);

  const trace::Definitions& definitions_;
  std::unordered_map<std::uint32_t, Role> stacks_;
  std::unordered_map<std::uint32_t, std::optional<Role>> codes_;
};

} // namespace memtrace::replay
