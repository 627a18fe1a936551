// Purpose: writes the table of the blocks alive at one instant, for a postmortem.
#pragma once

#include <cstddef>
#include <string>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/wording/text_lines.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {

// The live blocks. The lines of their table add up to `total` bytes.
struct Held {
  const replay::Holdings& set;
  std::int64_t total;
  Unit unit;
  std::string title;
  std::string sum; // the name of the total
};

// Returns "allocating line <- the user's line that called it".
std::string site_and_caller(ProcessAnalysis& analysis, format::StackId stack);

// Writes at most `most` lines, then the rest in a line, then the total.
void write_held(ProcessAnalysis& analysis, const Held& held, std::size_t most, Lines& lines);

} // namespace memtrace::report
