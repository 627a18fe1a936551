// Purpose: the instant at which all retained memory of training exists.
#pragma once

#include "analyzer/attribute/peak_composition.h"
#include "analyzer/attribute/phase_accounting.h"

namespace memtrace::report {

// Returns the end of the last update. On the host all live bytes count; on a device only tensors, which lie in
// segments. The account must have an update.
inline replay::Instant update_instant(const replay::Account& account, replay::MemoryId memory) {
  return {memory, memory == 0 ? replay::Measure::live : replay::Measure::tensor, account.last_update->at};
}

} // namespace memtrace::report
