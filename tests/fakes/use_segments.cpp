// Purpose: use_segments KEPT: ten times a tensor of 1 GiB comes and goes, and one of KEPT MiB takes its place
// and stays; prints PyTorch's counters where it holds most. A victim that allocates on the fake card as PyTorch
// does.
#include <cstdio>
#include <cstdlib>

#include "tests/fakes/c10_cuda.h"

int main(int count, char** words) {
  if (count != 2) return 2;
  constexpr std::size_t kMiB = 1 << 20;
  const std::size_t kept = std::strtoul(words[1], nullptr, 10) * kMiB;
  std::size_t allocated = 0, reserved = 0;
  for (int i = 0; i < 10; ++i) {
    void* const passing = fake_cuda_tensor(1024 * kMiB);
    if (fake_cuda_reserved() > reserved) {
      reserved = fake_cuda_reserved();
      allocated = fake_cuda_allocated();
    }
    fake_cuda_drop(passing);
    fake_cuda_tensor(kept);
  }
  std::printf("reserved %zu allocated %zu\n", reserved, allocated);
}
