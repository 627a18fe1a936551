// Purpose: what cuModuleLoadData takes here: how much code it is, and how much of the card it needs.
// Shared by the fake driver, the fake CUPTI and the programs that load modules.
#pragma once

#include <cstddef>

namespace fake {

struct FakeImage {
  std::size_t cubin, on_card;
};

} // namespace fake
