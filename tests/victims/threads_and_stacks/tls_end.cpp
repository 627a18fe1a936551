// Purpose: allocates and frees in destructors of thread-local objects and of pthread keys, to the very end.
// A victim: its output must be the same with and without the tracer.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <pthread.h>

namespace {

std::atomic<int> ended{0};
pthread_key_t key;

struct Late {
  std::vector<std::unique_ptr<char[]>> blocks;
  ~Late() {
    std::free(std::malloc(9000));
    ended.fetch_add(1);
  }
};
thread_local Late late;

// Runs after thread_local destructors, and again as long as it sets its key anew.
void at_end(void* round) {
  std::free(std::malloc(12000));
  const auto left = reinterpret_cast<std::intptr_t>(round) - 1;
  if (left > 0) pthread_setspecific(key, reinterpret_cast<void*>(left));
  ended.fetch_add(1);
}

} // namespace

int main() {
  pthread_key_create(&key, at_end);
  for (int i = 0; i < 200; ++i) {
    std::thread([] {
      pthread_setspecific(key, reinterpret_cast<void*>(3));
      for (int k = 0; k < 10; ++k) late.blocks.push_back(std::make_unique<char[]>(5000));
    }).join();
  }
  std::printf("ended: %d\n", ended.load());
}
