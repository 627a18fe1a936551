// Purpose: the bands of a timeline: few enough groups of roles that each has a colour of its own.
#include "analyzer/timeline/band.h"

namespace memtrace::replay {

Band band_of(const HoldingGroup& group, bool device, bool tensors) {
  // A segment of PyTorch's allocator has the address of its first tensor, and so the label of that tensor.
  const bool of_library =
      group.role == Role::context || group.role == Role::comm || group.role == Role::workspace;
  if (device && tensors && !group.tensor && !of_library) return Band::cache;
  switch (group.role) {
    case Role::parameter:
    case Role::master:
    case Role::buffer:
      return Band::parameter;
    case Role::gradient:
      return Band::gradient;
    case Role::optimizer_state:
      return Band::optimizer_state;
    case Role::activation:
    case Role::kv_cache:
      return Band::activation;
    case Role::temporary:
    case Role::workspace:
      return Band::temporary;
    case Role::comm:
    case Role::gathered:
      return Band::communication;
    case Role::input:
    case Role::staging:
    case Role::checkpoint:
      return Band::input;
    case Role::context:
      return Band::context;
    case Role::rounding:
      return Band::cache;
    case Role::unknown:
      break;
  }
  return group.tensor ? Band::unattributed : Band::runtime;
}

} // namespace memtrace::replay
