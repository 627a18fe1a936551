// Purpose: has a signal handler that maps memory interrupt the first allocation of the process, as far as a
// timer of 20 us hits it. It replaces itself some times, because each process has only one first allocation. A
// victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

enum { kPeriodUs = 20, kMappings = 40, kOther = 77 };
static volatile sig_atomic_t handled, wrong;

static void map(int unused) {
  (void)unused;
  const int before = errno;
  errno = kOther;
  char* const block = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED || errno != kOther) {
    wrong = 1;
  } else {
    block[0] = 1;
    if (munmap(block, 8192) != 0) wrong = 1;
  }
  errno = before;
  if (++handled == kMappings) {
    const struct itimerval none = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &none, NULL);
  }
}

int main(int argc, char** argv) {
  const int left = argc > 1 ? atoi(argv[1]) : 10;
  const struct sigaction action = {.sa_handler = map, .sa_flags = SA_RESTART};
  const struct itimerval often = {{0, kPeriodUs}, {0, kPeriodUs}};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  while (handled < kMappings) {
    errno = kOther;
    void* const block = malloc(5000);
    if (block == NULL || errno != kOther) wrong = 1;
    free(block);
  }
  if (wrong) puts("a mapping failed, or errno changed");
  if (left > 0) {
    char text[16];
    snprintf(text, sizeof text, "%d", left - 1);
    fflush(stdout);
    execl("/proc/self/exe", argv[0], text, (char*)NULL);
  }
  puts("done");
  return 0;
}
