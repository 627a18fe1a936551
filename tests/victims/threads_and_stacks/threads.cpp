// Purpose: 10,000 short threads allocate and leave a block to the next thread.
// A victim: its output must be the same with and without the tracer.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <pthread.h>

namespace {

std::atomic<char*> handed{nullptr};
std::atomic<int> ran{0};

void* brief(void*) {
  auto* block = static_cast<char*>(std::malloc(8192));
  std::memset(block, 1, 8192);
  std::free(handed.exchange(block));
  ran.fetch_add(1);
  return nullptr;
}

} // namespace

int main() {
  for (int round = 0; round < 625; ++round) {
    pthread_t threads[16];
    for (auto& thread : threads)
      if (pthread_create(&thread, nullptr, brief, nullptr) != 0) return 1;
    for (auto thread : threads) pthread_join(thread, nullptr);
  }
  std::free(handed.load());
  std::printf("threads: %d\n", ran.load());
}
