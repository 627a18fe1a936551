// Purpose: says in a table which figures are estimates from sampled blocks, and why a rest is in no other row.
#include "analyzer/print/text/sampled_text.h"

#include <fmt/core.h>

#include <cmath>

namespace memtrace::report {

std::string sampled_mark(double variance, const Unit& unit) {
  return fmt::format("sampled, +-{}", in_unit(static_cast<std::int64_t>(std::sqrt(variance)), unit));
}

const char* why_left(std::int64_t left, bool samples) {
  if (left < 0 && samples) return "sampling error; the total is exact";
  return samples ? "counted, and not in the samples" : "counted, not recorded one by one";
}

} // namespace memtrace::report
