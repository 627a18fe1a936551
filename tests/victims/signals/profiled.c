// Purpose: a storm of SIGPROF, as from a sampling profiler. The handler runs long on its own stack and does not
// allocate. A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t hits;

static void on_signal(int number) {
  const int kept = errno;
  (void)number;
  for (volatile int i = 0; i < 2000; ++i) {
  }
  ++hits;
  errno = kept;
}

static void* work(void* unused) {
  static __thread char own[65536];
  stack_t stack = {.ss_sp = own, .ss_size = sizeof own};
  sigaltstack(&stack, NULL);
  while (hits < 500) {
    char* block = realloc(malloc(6000), 90000);
    memset(block, 1, 90000);
    free(block);
  }
  return unused;
}

int main(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
  sigaction(SIGPROF, &action, NULL);
  const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_PROF, &often, NULL);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  setitimer(ITIMER_PROF, &never, NULL);
  puts("all threads ended");
  return 0;
}
