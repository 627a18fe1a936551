// Purpose: names the use of blocks whose phase did not end before the process died.
#include "analyzer/explain/block_owner.h"

namespace memtrace::report {
namespace {

bool in_file(const symbols::SiteFrame& frame, const char* what) {
  return frame.file.find(what) != std::string::npos;
}

// True if the frame reads a checkpoint: torch.load, safetensors.
bool reads(const symbols::SiteFrame& frame) {
  if (!frame.python) return frame.module.find("_safetensors_rust") != std::string::npos;
  return in_file(frame, "torch/serialization.py") || in_file(frame, "torch/_weights_only_unpickler.py") ||
         in_file(frame, "/safetensors/");
}

// True if the frame makes or converts a part of a module.
bool builds(const symbols::SiteFrame& frame) {
  return frame.python && (in_file(frame, "torch/nn/modules/") || in_file(frame, "torch/nn/parameter.py"));
}

} // namespace

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

} // namespace memtrace::report
