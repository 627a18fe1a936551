// Purpose: the JSON of a process resolves each site by its id.
#include <gtest/gtest.h>

#include "folder.h"
#include "own_module.h"
#include "tests/unit/sizes.h"

namespace memtrace::tests {
namespace {

std::uint64_t returns[2];

__attribute__((noinline)) void note_return(int which) {
  returns[which] = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
}
// One function that calls in two lines.
__attribute__((noinline)) void call_in_two_lines() {
  note_return(0);
  note_return(1);
  asm volatile("" ::: "memory");
}

// Calls `look` with each site in the rows of `value`, but not with the list `sites`.
void each_site(const report::Json& value, const std::function<void(const report::Json&)>& look) {
  if (value.is_object() && value.contains("id") && value.contains("frames")) return look(value);
  if (!value.is_structured()) return;
  for (const auto& [key, part] : value.items())
    if (key != "sites") each_site(part, look);
}

class Sites : public Folder {};

TEST_F(Sites, TwoLinesOfANativeFunctionHaveTwoIds) {
  call_in_two_lines();
  Builder b;
  const OwnModule me = own_module();
  b.module("/proc/self/exe", me.bias, returns[0] & ~std::uint64_t{4095}, 2, me.build_id);
  b.begin("load").birth(1, 10 * kMiB, Kind::heap, 0, b.native_frame(returns[0], 0));
  b.birth(2, 20 * kMiB, Kind::heap, 0, b.native_frame(returns[1], 0)).end("load").exit(0);
  write(".memtrace", b.bytes());
  const report::Json process = this->process();
  EXPECT_EQ(process["sites"].size(), 2u);
  int seen = 0;
  each_site(process, [&](const report::Json& site) {
    ++seen;
    EXPECT_EQ(process["sites"][site["id"].get<std::string>()]["frames"], site["frames"]);
  });
  EXPECT_GE(seen, 2);
}

} // namespace
} // namespace memtrace::tests
