// Purpose: writes the blocks of a timeline into a page: groups, classes, rows and live sets.
#pragma once

#include <string>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/page/stack_tree.h"
#include "analyzer/timeline/timeline.h"

namespace memtrace::report {

struct BlockNames {
  ProcessAnalysis& analysis;
  PageTexts& texts;
  StackTree& tree;
};

void add_blocks(PageBlock& block, const std::string& prefix, const replay::Timeline& timeline,
                const BlockNames& names);

} // namespace memtrace::report
