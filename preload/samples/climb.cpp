// Purpose: whether the memory of this process climbs, and for how long it did.
// Runs: on the background thread.
#include "preload/samples/climb.h"

#include "preload/record/live_levels.h"

namespace memtrace::record {
namespace {

constinit ClimbingTime so_far{};

} // namespace

void look_at_climb(std::uint64_t now, std::uint64_t resident) {
  const std::int64_t live = host_level();
  so_far.look(now, live > 0 ? static_cast<std::uint64_t>(live) : 0, resident);
}
const ClimbingTime& climb() {
  return so_far;
}
void forget_climb() {
  so_far = {};
}

} // namespace memtrace::record
