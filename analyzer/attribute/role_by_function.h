// Purpose: the role of a block, inferred from the framework's function that made it.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "analyzer/frameworks/function_names.h"
#include "analyzer/replay/roles.h"
#include "analyzer/trace/trace.h"

namespace memtrace::replay {

class Makers {
 public:
  explicit Makers(const trace::Trace& trace,
                  std::span<const frameworks::RoleOfFunction> functions = frameworks::kRolesOfFunctions)
      : Makers(trace.definitions(), functions) {}
  explicit Makers(const trace::Definitions& definitions,
                  std::span<const frameworks::RoleOfFunction> functions = frameworks::kRolesOfFunctions)
      : definitions_(definitions), functions_(functions) {}

  // Returns the role if a function in the stack makes memory for only one purpose; else unknown. Each frame is
  // examined once.
  Role role(format::StackId stack);

  // Returns what that function makes, if the role alone does not tell: "DeepSpeed swap buffer". Else returns
  // "".
  const char* name(format::StackId stack);

 private:
  // Each is null if no known function is in the stack, or the code is not that of one.
  using Known = const frameworks::RoleOfFunction*;
  Known of_code(std::uint32_t code);
  Known maker(format::StackId stack);

  const trace::Definitions& definitions_;
  std::span<const frameworks::RoleOfFunction> functions_;
  std::unordered_map<std::uint32_t, Known> stacks_;
  std::unordered_map<std::uint32_t, Known> codes_;
};

} // namespace memtrace::replay
