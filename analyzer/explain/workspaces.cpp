// Purpose: gives cuBLAS's workspaces their role, which only the names of native functions tell.
#include "analyzer/explain/workspaces.h"

#include <algorithm>

#include "analyzer/frameworks/function_names.h"

namespace memtrace::report {
namespace {

bool is_workspace(const symbols::Site& site) {
  const auto frames = symbols::frames_of_allocation(site);
  return std::any_of(frames.begin(), frames.end(), [](const symbols::SiteFrame& frame) {
    return frameworks::makes_workspace(frame.function);
  });
}

} // namespace

void name_workspaces(std::map<replay::Instant, replay::Holdings>& sets, symbols::Symbolizer& symbolizer) {
  constexpr std::uint64_t kLeast = 1 << 20; // bytes: a workspace has more, and a look-up of names takes time
  for (auto& [instant, alive] : sets) {
    if (instant.memory == 0) continue;
    for (replay::Holding& holding : alive) {
      if (holding.tensor && holding.largest >= kLeast && holding.stack != format::StackId{} &&
          is_workspace(symbolizer.site(holding.stack)))
        holding.role = replay::Role::workspace;
    }
  }
}

} // namespace memtrace::report
