// Purpose: writes the table of the blocks alive at one instant, by the module of a model or by role.
#pragma once

#include <cstddef>

#include "analyzer/explain/grouped_rows.h"
#include "analyzer/print/text/held_table.h"

namespace memtrace::report {

// Writes at most `most` rows, then the rest in a row, then the total. By module, the row "(no module)" has all
// that no module is known for. It comes last.
void write_grouped(ProcessAnalysis& analysis, const Held& held, Grouping by, std::size_t most, Lines& lines);

} // namespace memtrace::report
