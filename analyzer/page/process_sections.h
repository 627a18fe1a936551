// Purpose: writes the timeline of one process into a page.
#pragma once

#include <cstddef>
#include <cstdint>

#include "analyzer/findings/common/finding.h"
#include "analyzer/page/stack_tree.h"

namespace memtrace::report {

struct PageDetail {
  std::size_t bins = 4096;        // of the whole run, at most
  std::uint64_t rows = 1'000'000; // births and deaths that are stored one by one, at most
};

// Adds the sections of process `number` of the page, and returns its entry in `page.processes`. `leading`: the
// memory that the report leads with.
Json add_process(PageBlock& block, PageTexts& texts, std::size_t number, ProcessAnalysis& analysis,
                 const Findings& findings, replay::MemoryId leading, const PageDetail& detail);

} // namespace memtrace::report
