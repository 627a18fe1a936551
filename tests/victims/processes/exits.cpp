// Purpose: ends in every way: exit, _exit, quick_exit, abort, in a thread, pthread_exit of main, a signal.
// A victim: its output must be the same with and without the tracer.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <pthread.h>
#include <unistd.h>

namespace {

struct Global {
  char* held = new char[100000];
  ~Global() {
    delete[] held;
    std::puts("global destroyed");
  }
} global;

void late() {
  std::free(std::malloc(50000));
  std::puts("atexit ran");
}

} // namespace

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "return";
  std::atexit(late);
  std::at_quick_exit([] { std::puts("at_quick_exit ran"), std::fflush(stdout); });
  void* leaked = std::malloc(1 << 20);
  std::memset(leaked, 1, 1 << 20);
  std::printf("by %s\n", way);
  std::fflush(stdout);
  if (std::strcmp(way, "exit") == 0) std::exit(11);
  if (std::strcmp(way, "_exit") == 0) _exit(12);
  if (std::strcmp(way, "quick_exit") == 0) std::quick_exit(13);
  if (std::strcmp(way, "abort") == 0) std::abort();
  if (std::strcmp(way, "segv") == 0) std::raise(SIGSEGV);
  if (std::strcmp(way, "term") == 0) std::raise(SIGTERM);
  if (std::strcmp(way, "thread_exit") == 0) std::thread([] { std::exit(14); }).join();
  if (std::strcmp(way, "pthread_exit") == 0) {
    std::thread([] {
      usleep(20000);
      std::free(std::malloc(70000));
      std::puts("the other thread was last");
    }).detach();
    pthread_exit(nullptr);
  }
  return 10;
}
