// Purpose: gives cuBLAS's workspaces their role, which only the names of native functions tell.
#include "analyzer/explain/workspaces.h"

#include <algorithm>

#include "analyzer/attribute/holding_group.h"
#include "analyzer/frameworks/function_names.h"

namespace memtrace::report {
namespace {

bool makes_workspace(const symbols::Site& site) {
  const auto frames = symbols::frames_of_allocation(site);
  return std::any_of(frames.begin(), frames.end(), [](const symbols::SiteFrame& frame) {
    return frameworks::makes_workspace(frame.function);
  });
}

} // namespace

bool is_workspace(symbols::Symbolizer& symbolizer, format::StackId stack) {
  return stack != format::StackId{} && makes_workspace(symbolizer.site(stack));
}

void name_workspaces(std::map<replay::Instant, replay::Holdings>& sets, symbols::Symbolizer& symbolizer) {
  for (auto& [instant, alive] : sets) {
    if (instant.memory == 0) continue;
    for (replay::Holding& holding : alive)
      if (holding.tensor && holding.largest >= replay::kLeastWorkspace &&
          is_workspace(symbolizer, holding.stack)) {
        holding.role = replay::Role::workspace;
        holding.made_as = "cuBLAS";
      }
  }
}

} // namespace memtrace::report
