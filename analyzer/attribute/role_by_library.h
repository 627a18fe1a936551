// Purpose: the role of device memory that no framework's allocator requested, inferred from the library that
// requested it.
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
  explicit Askers(const trace::Trace& trace) : Askers(trace.definitions(), trace.facts()) {}
  Askers(const trace::Definitions& definitions, const trace::Facts& facts)
      : definitions_(definitions), modules_(definitions, facts.page_bytes) {}

  // Returns comm for NCCL's buffers, workspace for memory of CUDA's mathematical libraries; else unknown. Each
  // frame is examined once.
  Role role(format::StackId stack);

  // Returns the name of that library: "cuBLAS". Returns "" for all others.
  const char* name(format::StackId stack);

 private:
  struct AskingLibrary {
    const char* file; // the beginning of its name
    const char* name;
    Role role;
  };
  static const AskingLibrary kLibraries[];

  std::string library_at(std::uint64_t address) const;
  // Returns null for another library than these. Returns nullopt if the library only forwards calls.
  std::optional<const AskingLibrary*> of_frame(const trace::Frame& frame) const;
  const AskingLibrary* asker(format::StackId stack);

  const trace::Definitions& definitions_;
  trace::ModuleMap modules_;
  std::unordered_map<std::uint32_t, const AskingLibrary*> known_;
};

} // namespace memtrace::replay
