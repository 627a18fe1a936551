// Purpose: tells the forward passes after the last update from a step of training.
#pragma once

#include "analyzer/attribute/phase_accounting.h"
#include "analyzer/job/process_end.h"

namespace memtrace::report {

// Returns the last step if it is only what came after the last update: forward passes, such as a validation
// with gradients enabled, without a backward or an update, in a process that exited with 0. The author of the
// program does not count it as a step. Otherwise returns Step::none: a process that died in a forward was in a
// step.
replay::Step after_training(const replay::Account& account, const trace::Facts& facts, const ProcessEnd& end);

// Returns the number of the step before `after`, which is the last one of training.
replay::Step last_of_training(replay::Step after);

} // namespace memtrace::report
