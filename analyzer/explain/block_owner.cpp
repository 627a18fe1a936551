// Purpose: names the use of blocks whose phase did not end before the process died.
#include "analyzer/explain/block_owner.h"

#include <algorithm>

#include "analyzer/frameworks/function_names.h"
#include "analyzer/wording/labels.h"

namespace memtrace::report {
namespace {

// True if the frame reads a checkpoint: torch.load, safetensors.
bool reads(const symbols::SiteFrame& frame) {
  if (!frame.python) return frame.module.find("_safetensors_rust") != std::string::npos;
  return frameworks::reads_checkpoint(frame.file);
}

// True if the frame makes or converts a part of a module.
bool builds(const symbols::SiteFrame& frame) {
  return frame.python && frameworks::builds_module(frame.file);
}

} // namespace

bool reads_checkpoint(const symbols::Site& site) {
  const auto frames = symbols::frames_of_allocation(site);
  return std::any_of(frames.begin(), frames.end(), reads);
}

BlockOwner owner_of(ProcessAnalysis& analysis, const replay::Holding& holding) {
  if (holding.role != replay::Role::unknown || !holding.tensor || holding.stack == format::StackId{})
    return {"", holding.role};
  if (holding.born_known != replay::KnownPhase::load) return {"", holding.role};
  for (const symbols::SiteFrame& frame :
       symbols::frames_of_allocation(analysis.symbolizer->site(holding.stack))) {
    if (reads(frame)) return {"state dict", replay::Role::staging};
    if (builds(frame)) return {"model", replay::Role::parameter};
  }
  return {"", holding.role};
}

std::string use_of(ProcessAnalysis& analysis, const replay::Holding& holding) {
  return use_of(owner_of(analysis, holding), holding);
}

std::string use_of(const BlockOwner& owner, const replay::Holding& holding) {
  if (*owner.name != '\0') return owner.name;
  if (owner.role != replay::Role::unknown) return words_of(replay::role_name(owner.role));
  return holding.tensor ? "tensor" : words_of(format::kKindNames[static_cast<std::size_t>(holding.kind)]);
}

} // namespace memtrace::report
