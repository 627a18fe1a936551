// Purpose: use_pinned P pinned|pageable|cache. For P parameters of this rank's partition: fp32 master weights,
// which are pinned from a pageable copy, a bf16 buffer for the copy to the device, fp32 gradients, and Adam's
// two states, which never are pinned. "cache": a batch of P bytes is pinned and dropped, twice. Prints what the
// pinned allocator says.
// A victim that holds in host memory what DeepSpeed's ZeRO-2 holds with its optimizer on the CPU.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/fakes/torch_cpu.h"

namespace {

void* pinned_copy(void* pageable, long numbers, std::size_t item) {
  void* const pinned = fake_torch_pin(numbers, item);
  fake_torch_drop(pageable, false);
  return pinned;
}

void hold(long p, bool pinned) {
  constexpr std::size_t kFloat = 4, kBfloat = 2;
  void* const master = fake_torch_empty(p, kFloat, false);
  if (pinned) pinned_copy(master, p, kFloat);
  fake_torch_empty(p, kBfloat, pinned);
  void* const gradients = fake_torch_empty(p, kFloat, false);
  if (pinned) pinned_copy(gradients, p, kFloat);
  fake_torch_empty(p, kFloat, false); // exp_avg
  fake_torch_empty(p, kFloat, false); // exp_avg_sq
}

} // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  const long p = std::atol(words[1]);
  if (std::strcmp(words[2], "cache") == 0) {
    for (int i = 0; i < 2; ++i) fake_torch_drop(fake_torch_empty(p, 1, true), true);
  } else {
    hold(p, std::strcmp(words[2], "pinned") == 0);
  }
  FakeHostStats stats;
  fake_torch_host_stats(&stats);
  std::printf("in use %zu of %zu\n", stats.active_bytes, stats.allocated_bytes);
}
