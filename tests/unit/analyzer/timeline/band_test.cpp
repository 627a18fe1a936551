// Purpose: the band of a group.
#include "analyzer/timeline/band.h"

#include <gtest/gtest.h>

namespace memtrace::replay {
namespace {

HoldingGroup group(Role role, bool tensor) {
  HoldingGroup out;
  out.role = role;
  out.tensor = tensor;
  return out;
}

TEST(Band, EachRoleHasOne) {
  for (int role = 0; role <= static_cast<int>(Role::rounding); ++role)
    EXPECT_LT(static_cast<std::size_t>(band_of(group(static_cast<Role>(role), true), false, true)), kBands);
  EXPECT_EQ(band_of(group(Role::unknown, false), false, true), Band::runtime);
  EXPECT_EQ(band_of(group(Role::unknown, true), false, true), Band::unattributed);
}

// On the CUDA node, a segment had the role of the tensor at its start: then the bands counted its tensors
// twice.
TEST(Band, ASegmentOfPyTorchIsCacheWhateverItsLabel) {
  EXPECT_EQ(band_of(group(Role::gradient, false), true, true), Band::cache);
  EXPECT_EQ(band_of(group(Role::unknown, false), true, true), Band::cache);
  EXPECT_EQ(band_of(group(Role::gradient, true), true, true), Band::gradient);
  EXPECT_EQ(band_of(group(Role::comm, false), true, true), Band::communication);
  EXPECT_EQ(band_of(group(Role::context, false), true, true), Band::context);
  EXPECT_EQ(band_of(group(Role::unknown, false), true, false), Band::runtime);
}

} // namespace
} // namespace memtrace::replay
