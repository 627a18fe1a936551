// Purpose: says in a table which figures are estimates from sampled blocks, and why a rest is in no other row.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/wording/units.h"

namespace memtrace::report {

// Returns "sampled, +-10.09": half of the interval that holds the truth in 95 of 100 cases. `variance`: the sum
// of squared 95 % errors.
std::string sampled_mark(double variance, const Unit& unit);

// Returns why the recorded blocks do not add up to the total: `left` are the bytes that they lack. `samples`:
// some of them were sampled.
const char* why_left(std::int64_t left, bool samples);

} // namespace memtrace::report
