// Purpose: the training that the golden trace tells of.
#pragma once

#include "writer.h"

namespace memtrace::tests {

inline constexpr std::uint64_t kSteps = 6;

// Writes all of it. The writer's levels afterwards are what a reader must find.
void write_program(Writer& writer);

} // namespace memtrace::tests
