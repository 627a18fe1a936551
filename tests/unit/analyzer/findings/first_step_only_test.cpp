// Purpose: what only the first step made is a finding, unless a library needs it from then on.
#include <gtest/gtest.h>

#include "folder.h"
#include "own_module.h"
#include "tests/unit/sizes.h"

// Named as PyTorch names them: the finding knows them by their symbols.
namespace at::native {
__attribute__((noinline, used)) int generate_and_filter_plans(int x) {
  asm volatile("" ::: "memory");
  return x + 2;
}
} // namespace at::native
namespace at::cuda {
__attribute__((noinline, used)) int getCUDABlasLtWorkspace(int x) {
  asm volatile("" ::: "memory");
  return x + 1;
}
} // namespace at::cuda

namespace memtrace::tests {
namespace {

constexpr std::uint16_t kOnGpu = format::kTensor | 1 << format::kMemoryShift;

class FirstStepOnly : public Folder {
 protected:
  // Four steps of 100 MiB on the first GPU. The first also makes 64 MiB with `stack`, which stay, or die in it.
  report::Findings findings_of(Builder& b, std::uint32_t stack, bool dies) {
    const auto tensor = [&b](std::uint64_t address, std::uint64_t bytes, std::uint32_t made_by) -> Builder& {
      return b.birth(address, bytes, Kind::device, kOnGpu, made_by, bytes);
    };
    b.begin("load");
    tensor(1, 10 * kMiB, 0).end("load");
    for (int step = 0; step < 4; ++step) {
      b.begin("forward");
      if (step == 0) tensor(2, 64 * kMiB, stack);
      tensor(3, 100 * kMiB, 0).end("forward").begin("step");
      if (step == 0 && dies) b.death(2, 0, Kind::device, kOnGpu);
      b.death(3, 0, Kind::device, kOnGpu).end("step");
    }
    write(".memtrace", b.bytes());
    return report::find(analysis());
  }
  std::vector<std::string> findings_with(Builder& b, std::uint32_t stack) {
    std::vector<std::string> ids;
    for (const report::Finding& finding : findings_of(b, stack, false)) ids.push_back(finding.id);
    return ids;
  }

  // A frame of a function of this program, which has PyTorch's name for it, below a line of the user.
  static std::uint32_t frame_of(Builder& b, int (*function)(int)) {
    const OwnModule me = own_module();
    const auto maker = reinterpret_cast<std::uint64_t>(function);
    b.module("/proc/self/exe", me.bias, maker & ~std::uint64_t{4095}, 2, me.build_id);
    return b.native_frame(maker + 1, b.python_frame("train", "/home/u/train.py", 9, 0));
  }

  // The role of the 64 MiB where most was alive.
  replay::Role role_of_64_mib() {
    for (const auto& [instant, alive] : analysis().sets)
      for (const replay::Holding& holding : alive)
        if (instant.memory == 1 && holding.bytes == 64 * kMiB) return holding.role;
    return replay::Role::unknown;
  }
};

TEST_F(FirstStepOnly, TheWorkspaceOfCublasIsNone) {
  Builder plain;
  const std::uint32_t user = plain.python_frame("train", "/home/u/train.py", 9, 0);
  EXPECT_EQ(findings_with(plain, user), std::vector<std::string>{"first-step-only"});

  Builder with;
  const std::uint32_t stack = frame_of(with, &at::cuda::getCUDABlasLtWorkspace);
  EXPECT_EQ(findings_with(with, stack), std::vector<std::string>{});
  EXPECT_EQ(role_of_64_mib(), replay::Role::workspace);
}

TEST_F(FirstStepOnly, CudnnMeasuresItsAlgorithms) {
  Builder plain;
  const report::Findings other =
      findings_of(plain, plain.python_frame("train", "/home/u/train.py", 9, 0), true);
  ASSERT_EQ(other.size(), 1u);
  EXPECT_TRUE(other[0].remedy.starts_with("make it before the first step")) << other[0].remedy;

  Builder with;
  const report::Findings findings =
      findings_of(with, frame_of(with, &at::native::generate_and_filter_plans), true);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].remedy, "torch.backends.cudnn.benchmark = False: -64.00 MiB at the peak");
}

} // namespace
} // namespace memtrace::tests
