// Purpose: writes the table of the blocks alive at one instant, by the user's line.
#pragma once

#include <cstddef>
#include <string>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/wording/text_lines.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {

// The live blocks. The rows of their table add up to `total` bytes.
struct Held {
  const replay::Holdings& set;
  std::int64_t total; // without reservations that were never touched
  Unit unit;
  std::string title;
  std::string sum;         // the name of the total
  std::string at;          // the instant; may be empty
  std::string others;      // where the rows are that the table leaves out
  bool of_tensors = false; // also as multiples of the parameters
  bool of_device = false;
  bool all = false; // a row for each site, and one for the small sites of a line
  replay::Step now =
      replay::Step::none; // the step of the instant: what is left of earlier ones has its own rows
};

// Returns "allocating line <- the user's line that called it".
std::string site_and_caller(ProcessAnalysis& analysis, format::StackId stack);

// Writes at most `most` rows, then the rest in a row, then the total. Below it, how much of it is left of
// earlier steps.
void write_held(ProcessAnalysis& analysis, const Held& held, std::size_t most, Lines& lines);

} // namespace memtrace::report
