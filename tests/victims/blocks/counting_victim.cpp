// Purpose: counts its own mallocs in a shared page, so that a kill at any instant can be checked.
// A victim: its output must be the same with and without the tracer.
//
// usage: counting_victim PAGE [--size N] [--threads T] [--count N] [--pattern keep|window|free] [--pause NS]
// PAGE is a file of one page per thread, mapped MAP_SHARED. Word 0 of page t is the count of thread t, stored
// after each malloc returns. So if the process dies, N or N + 1 mallocs are recorded.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <pthread.h>

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kWindow = 256;

struct Options {
  std::size_t size = 8192;
  unsigned long count = ~0ul;
  long pause = 0;
  char pattern = 'w';
} options;

void pause_for(long ns) {
  const timespec span{0, ns};
  if (ns > 0) nanosleep(&span, nullptr);
}

void* counted(void* page) {
  auto* count = static_cast<std::atomic<unsigned long>*>(page);
  static thread_local void* window[kWindow];
  for (unsigned long i = 0; i < options.count; ++i) {
    void* block = std::malloc(options.size);
    count->store(i + 1, std::memory_order_release);
    if (block == nullptr) std::abort();
    if (options.pattern == 'f') std::free(block);
    if (options.pattern == 'w') {
      std::free(window[i % kWindow]);
      window[i % kWindow] = block;
    }
    pause_for(options.pause);
  }
  return nullptr;
}

} // namespace

int main(int argc, char** argv) {
  long threads = 1;
  for (int i = 2; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--size") == 0) options.size = std::strtoul(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--threads") == 0) threads = std::atol(argv[i + 1]);
    if (std::strcmp(argv[i], "--count") == 0) options.count = std::strtoul(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--pattern") == 0) options.pattern = argv[i + 1][0];
    if (std::strcmp(argv[i], "--pause") == 0) options.pause = std::atol(argv[i + 1]);
  }
  const int file = argc > 1 ? open(argv[1], O_RDWR) : -1;
  if (file < 0) return 2;
  auto* pages = static_cast<char*>(
      mmap(nullptr, kPage * static_cast<std::size_t>(threads), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  close(file);
  if (pages == MAP_FAILED) return 2;
  pthread_t others[64];
  for (long t = 1; t < threads; ++t) pthread_create(&others[t], nullptr, counted, pages + kPage * t);
  counted(pages);
  for (long t = 1; t < threads; ++t) pthread_join(others[t], nullptr);
  return 0;
}
