// Purpose: joins the modules of equal layers: layers.0.mlp and layers.1.mlp are both layers.*.mlp.
#include "analyzer/attribute/module_patterns.h"

namespace memtrace::replay {

namespace {

constexpr char kIndices = '\x1F';

} // namespace

std::string_view module_pattern(std::string_view text) {
  return text.substr(0, text.find(kIndices));
}

format::TextId ModulePatterns::shared(format::TextId module) {
  if (module == format::TextId{}) return module;
  if (const auto known = known_.find(module); known != known_.end()) return known->second;
  const std::string_view pattern = module_pattern(definitions_.text(module));
  const format::TextId first = by_pattern_.try_emplace(pattern, module).first->second;
  known_.emplace(module, first);
  return first;
}

} // namespace memtrace::replay
