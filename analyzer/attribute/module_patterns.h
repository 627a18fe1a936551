// Purpose: joins the modules of equal layers: layers.0.mlp and layers.1.mlp are both layers.*.mlp.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "analyzer/trace/trace.h"

namespace memtrace::replay {

// Returns the part of a module's text that equal layers have in common. The real indices follow it, behind an
// 0x1F (preload/python/module_paths.py).
std::string_view module_pattern(std::string_view text);

class ModulePatterns {
 public:
  explicit ModulePatterns(const trace::Definitions& definitions) : definitions_(definitions) {}

  // Returns the module that stands for all modules with the pattern of `module`: the first one of them that was
  // asked for. Returns no module for none.
  format::TextId shared(format::TextId module);

 private:
  const trace::Definitions& definitions_;
  std::unordered_map<format::TextId, format::TextId> known_;
  std::unordered_map<std::string_view, format::TextId> by_pattern_;
};

} // namespace memtrace::replay
