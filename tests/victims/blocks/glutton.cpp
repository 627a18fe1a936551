// Purpose: counts its own blocks in a shared page, so that the trace at a kill can be checked.
// A victim of the kernel: it takes memory until a limit ends it.
//
// usage: glutton PAGE [--size N] [--threads T] [--forks] [--worker] [--most N] [--pause NS]
// PAGE is a file of one page per thread, mapped MAP_SHARED. Word 0 of page t is the count of thread t, stored
// after malloc returns and before the block is touched. --forks: the main thread forks all the time. --worker:
// a child takes the memory, as the kernel's first choice, and the parent prints how it ended. --most: stops at
// N blocks and waits for a line on stdin.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <pthread.h>

namespace {

constexpr std::size_t kPage = 4096;

struct Options {
  std::size_t size = 1 << 18;
  std::size_t threads = 1;
  std::size_t most = ~std::size_t{0};
  long pause = 0;
  bool forks = false;
  bool worker = false;
} options;

char* pages = nullptr;

void* eat(void* page) {
  auto* const count = reinterpret_cast<std::atomic<unsigned long>*>(page);
  const timespec pause = {0, options.pause};
  for (std::size_t i = 0; i < options.most; ++i) {
    void* const block = std::malloc(options.size);
    if (block == nullptr) return nullptr;
    count->fetch_add(1, std::memory_order_release);
    std::memset(block, 1, options.size);
    if (options.pause != 0) nanosleep(&pause, nullptr);
  }
  return nullptr;
}

void eat_in_threads() {
  pthread_t threads[64];
  for (std::size_t t = 0; t < options.threads; ++t)
    pthread_create(&threads[t], nullptr, &eat, pages + t * kPage);
  for (unsigned children = 0; options.forks; ++children) {
    const pid_t child = fork();
    if (child == 0) {
      std::memset(std::malloc(3 << 20), 1, 3 << 20); // enough for its own trace
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  for (std::size_t t = 0; t < options.threads; ++t) pthread_join(threads[t], nullptr);
}

int worker() {
  std::memset(std::malloc(40 << 20), 1, 40 << 20);
  const pid_t child = fork();
  if (child == 0) {
    const int fd = open("/proc/self/oom_score_adj", O_WRONLY);
    if (fd < 0 || write(fd, "1000", 4) != 4) _exit(9);
    close(fd);
    eat(pages);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("worker %d signal %d\n", static_cast<int>(child), WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    const auto value = [&] { return std::strtoul(argv[++i], nullptr, 10); };
    if (std::strcmp(argv[i], "--size") == 0)
      options.size = value();
    else if (std::strcmp(argv[i], "--threads") == 0)
      options.threads = value();
    else if (std::strcmp(argv[i], "--most") == 0)
      options.most = value();
    else if (std::strcmp(argv[i], "--pause") == 0)
      options.pause = static_cast<long>(value());
    else if (std::strcmp(argv[i], "--forks") == 0)
      options.forks = true;
    else if (std::strcmp(argv[i], "--worker") == 0)
      options.worker = true;
  }
  const int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
  void* const map =
      fd < 0 ? MAP_FAILED : mmap(nullptr, options.threads * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) return 2;
  close(fd);
  pages = static_cast<char*>(map);
  if (options.worker) return worker();
  eat_in_threads();
  if (options.most != ~std::size_t{0}) getchar();
  return 0;
}
