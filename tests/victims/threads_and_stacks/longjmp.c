// Purpose: leaves frames by longjmp, also from a signal handler, while the program allocates.
// A victim: its output must be the same with and without the tracer.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf out;
static sigjmp_buf from_signal;
static void* volatile kept[100];

static void down(int depth) {
  kept[depth] = malloc(10000);
  if (depth == 50) longjmp(out, depth);
  down(depth + 1);
}

static void handler(int number) {
  siglongjmp(from_signal, number);
}

int main(void) {
  volatile int sum = 0;
  for (volatile int round = 0; round < 100; ++round) {
    int depth = setjmp(out);
    if (depth == 0) down(0);
    sum += depth;
    for (int i = 0; i <= 50; ++i) free(kept[i]);
  }
  signal(SIGUSR1, handler);
  if (sigsetjmp(from_signal, 1) == 0) raise(SIGUSR1);
  free(malloc(1 << 20));
  printf("sum: %d\n", sum);
  return 0;
}
