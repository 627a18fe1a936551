// Purpose: writes a call tree as text.
#pragma once

#include <string>

#include "analyzer/calltree/tree_lines.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

struct TreeQuestion {
  std::string finding{}; // "foreach-temporaries: TITLE"; "": all that was alive at the peak
  bool inverted = false;
  TreeLimits limits{};
};

std::string tree_text(ProcessAnalysis& analysis, const HeldBlocks& held, const CallTree& tree,
                      const TreeQuestion& question, const Screen& screen);

// Returns "host: 412.44 MiB of tensors alive at the peak, in update 3, 4.2 s after the start".
std::string held_text(const ProcessAnalysis& analysis, const HeldBlocks& held);

} // namespace memtrace::report
