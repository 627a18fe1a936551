// Purpose: use_contexts WHAT: a context on the first card with 2 GiB in it, and beside it: `other`, one on the
// second card in which nothing is; `both`, 1 GiB there as well; `code`, a module that takes 700 MiB of the
// card; `module`, one of 30 MiB; `stacks`, 2 KiB for each thread's stack instead of 1. Between any two of these
// the card is looked at. `peaks`, alone and without a pause: 8 blocks of 64 MiB on the first card, 1 of 256 MiB
// on the second, then all are freed. A victim that uses CUDA.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <dlfcn.h>

#include "tests/fakes/find_cuda.h"

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
fake::Api cuda;

void check(int result) {
  if (result == 0) return;
  std::printf("error %d\n", result);
  std::exit(1);
}

int looks() {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_NOLOAD);
  void* const count = library != nullptr ? dlsym(library, "fake_nvml_looks") : nullptr;
  return count != nullptr ? reinterpret_cast<int (*)()>(count)() : 0;
}

// It is looked at beside calls, and not at each of them. Without memtrace nobody does.
void be_looked_at() {
  if (std::getenv("MEMTRACE_OUT") == nullptr) return;
  const int before = looks();
  for (int i = 0; i < 2000 && looks() == before; ++i) {
    void* block = nullptr;
    check(cuda.cudaMalloc(&block, kMiB));
    check(cuda.cudaFree(block));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void work_on(int device, std::size_t bytes) {
  void* block = nullptr;
  check(cuda.cudaSetDevice(device));
  if (bytes != 0) check(cuda.cudaMalloc(&block, bytes));
  be_looked_at();
}

void reach_peaks() {
  void* blocks[9] = {};
  for (int i = 0; i < 9; ++i) {
    check(cuda.cudaSetDevice(i == 8));
    check(cuda.cudaMalloc(&blocks[i], (i == 8 ? 256 : 64) * kMiB));
  }
  for (void* const block : blocks) check(cuda.cudaFree(block));
}

} // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  const std::string what(words[1]);
  cuda = find_cuda("module");
  check(cuda.cuInit(0));
  if (what == "peaks") return reach_peaks(), 0;
  check(cuda.cudaSetDevice(0));
  be_looked_at();
  work_on(0, 2048 * kMiB);
  if (what == "other" || what == "both") work_on(1, what == "both" ? 1024 * kMiB : 0);
  static const fake::FakeImage large{400 * kMiB, 700 * kMiB}, small{20 * kMiB, 30 * kMiB};
  void* module = nullptr;
  if (what == "code" || what == "module")
    check(cuda.cuModuleLoadData(&module, what == "code" ? &large : &small));
  if (what == "stacks") check(cuda.cuCtxSetLimit(0, 2048));
  be_looked_at();
  return 0;
}
