// Purpose: eight threads of large reallocs: an address that one frees, another gets at once.
// A victim: its output must be the same with and without the tracer.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kThreads = 8, kRounds = 4000 };
static int wrong[kThreads];

static void* churn(void* number) {
  long me = (long)number;
  unsigned seed = (unsigned)me + 1;
  size_t size = 200000;
  char* block = malloc(size);
  memset(block, (int)me, 64);
  for (int i = 0; i < kRounds; ++i) {
    seed = seed * 1103515245u + 12345u;
    size = 150000 + seed % 400000;
    block = realloc(block, size);
    for (int k = 0; k < 64; ++k) wrong[me] |= block[k] != (char)me;
    block[size - 1] = 0;
  }
  free(block);
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, churn, (void*)i);
  int bad = 0;
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    bad |= wrong[i];
  }
  printf("wrong: %d\n", bad);
  return bad;
}
