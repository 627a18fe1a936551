// Purpose: what only the first step made is a finding, unless a library needs it from then on.
#include <gtest/gtest.h>

#include "folder.h"
#include "own_module.h"
#include "tests/unit/sizes.h"

// Named as PyTorch names it: the finding knows it by its symbol.
namespace at::cuda {
__attribute__((noinline, used)) int getCUDABlasLtWorkspace(int x) {
  asm volatile("" ::: "memory");
  return x + 1;
}
} // namespace at::cuda

namespace memtrace::tests {
namespace {

class FirstStepOnly : public Folder {
 protected:
  // Four steps of 100 MiB. The first also makes 64 MiB with `stack`, which stay.
  std::vector<std::string> findings_with(Builder& b, std::uint32_t stack) {
    b.begin("load").tensor(1, 10 * kMiB).end("load");
    for (int step = 0; step < 4; ++step) {
      b.begin("forward");
      if (step == 0) b.tensor(2, 64 * kMiB, stack);
      b.tensor(3, 100 * kMiB).end("forward").begin("step").tensor_death(3).end("step");
    }
    write(".memtrace", b.bytes());
    std::vector<std::string> ids;
    for (const report::Finding& finding : report::find(analysis())) ids.push_back(finding.id);
    return ids;
  }
};

TEST_F(FirstStepOnly, TheWorkspaceOfCublasIsNone) {
  Builder plain;
  const std::uint32_t user = plain.python_frame("train", "/home/u/train.py", 9, 0);
  EXPECT_EQ(findings_with(plain, user), std::vector<std::string>{"first-step-only"});

  Builder with;
  const OwnModule me = own_module();
  const auto maker = reinterpret_cast<std::uint64_t>(&at::cuda::getCUDABlasLtWorkspace);
  with.module("/proc/self/exe", me.bias, maker & ~std::uint64_t{4095}, 2, me.build_id);
  const std::uint32_t caller = with.python_frame("train", "/home/u/train.py", 9, 0);
  EXPECT_EQ(findings_with(with, with.native_frame(maker + 1, caller)), std::vector<std::string>{});
}

} // namespace
} // namespace memtrace::tests
