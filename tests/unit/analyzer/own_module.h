// Purpose: this test program as a module of a trace, so that its functions can be looked up by address.
#pragma once

#include <cstdint>
#include <vector>

namespace memtrace::tests {

struct OwnModule {
  std::uint64_t bias = 0;
  std::vector<std::uint8_t> build_id;
};

OwnModule own_module();

} // namespace memtrace::tests
