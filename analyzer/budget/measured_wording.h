// Purpose: the words for what was measured for a budget: its figure, and the lines that hold it.
#pragma once

#include <string>

#include "analyzer/budget/verdicts.h"

namespace memtrace::budget {

// Returns "108.08 MiB in update 0 (pid 12), 8.08 MiB too much". Not printable: names come from the program.
std::string figure_in_words(const BudgetVerdict& verdict);

// Returns "train.py:31 forward, 512.00 MiB". Not printable.
std::string holder_in_words(const MemoryBudget& budget, const Holder& holder);

} // namespace memtrace::budget
