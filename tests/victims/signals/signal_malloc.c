// Purpose: calls malloc in a signal handler that interrupts code without malloc's lock, and checks errno.
// A victim: its output must be the same with and without the tracer.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>

static volatile sig_atomic_t handled, wrong;

// malloc in a handler is an error of the program, but works if the interrupted code is outside of malloc. So
// the signal interrupts only mmap and arithmetic here.
static void handler(int number) {
  (void)number;
  errno = 77;
  void* block = malloc(10000);
  free(block);
  if (block == NULL || errno != 77) wrong = 1;
  handled = handled + 1;
}

int main(void) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval timer = {{0, 500}, {0, 500}};
  setitimer(ITIMER_REAL, &timer, NULL);
  unsigned long work = 0;
  while (handled < 300) {
    void* map = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return 1;
    for (int i = 0; i < 1000; ++i) work += (unsigned long)i * work + 1;
    munmap(map, 1 << 16);
  }
  timer = (struct itimerval){{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &timer, NULL);
  printf("handled, wrong: %d\n", wrong);
  return 0;
}
