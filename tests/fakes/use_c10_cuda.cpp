// Purpose: tensors of 8, 30 and 0.5 MiB, of which the second goes and comes again smaller; the cache is
// emptied; one is too large. Prints PyTorch's counters after each. A victim that trains on the fake card as
// PyTorch does.
#include <cstdio>

#include "tests/fakes/c10_cuda.h"

namespace {

void say(const char* what) {
  std::printf("%s: allocated %zu reserved %zu\n", what, fake_cuda_allocated(), fake_cuda_reserved());
}

} // namespace

int main() {
  constexpr std::size_t kMiB = 1 << 20;
  fake_cuda_tensor(8 * kMiB);
  void* const large = fake_cuda_tensor(30 * kMiB - 100);
  fake_cuda_tensor(kMiB / 2);
  say("three");
  fake_cuda_drop(large);
  void* const again = fake_cuda_tensor(29 * kMiB);
  say("again");
  fake_cuda_drop(again);
  fake_cuda_empty_cache();
  say("emptied");
  std::printf("too large: %d\n", fake_cuda_tensor(std::size_t{1} << 40) == nullptr);
  say("end");
}
