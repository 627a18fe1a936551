// Purpose: what memory of a device is for that no framework's allocator asked for, told from the library that
// did.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "analyzer/replay/roles.h"
#include "analyzer/trace/module_map.h"
#include "analyzer/trace/trace.h"

namespace memtrace::replay {

class Askers {
 public:
  explicit Askers(const trace::Trace& trace)
      : definitions_(trace.definitions()), modules_(trace.definitions(), trace.facts().page_bytes) {}

  // NCCL's buffers, the workspaces of CUDA's mathematical libraries; else unknown. One look at each frame.
  Role role(format::StackId stack);

 private:
  std::string library_at(std::uint64_t address) const;
  std::optional<Role> of_frame(const trace::Frame& frame) const;

  const trace::Definitions& definitions_;
  trace::ModuleMap modules_;
  std::unordered_map<std::uint32_t, Role> known_;
};

} // namespace memtrace::replay
