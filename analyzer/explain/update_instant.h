// Purpose: when all is there that a training run keeps.
#pragma once

#include "analyzer/attribute/peak_composition.h"
#include "analyzer/attribute/phase_accounting.h"

namespace memtrace::report {

// Returns the end of the last update. On the host all live bytes count; on a device the tensors, which lie in
// segments. Only where there was an update.
inline fold::Instant update_instant(const fold::Account& account, fold::MemoryId memory) {
  return {memory, memory == 0 ? fold::Measure::live : fold::Measure::tensor, account.last_update->at};
}

} // namespace memtrace::report
