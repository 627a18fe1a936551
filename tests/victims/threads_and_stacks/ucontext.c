// Purpose: 64 contexts of makecontext on malloc stacks of 16 KiB each. They allocate and move between threads.
// A victim: its output must be the same with and without the tracer.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { kContexts = 64, kStack = 16 * 1024, kRounds = 40 };

static ucontext_t contexts[kContexts], back;
static char* stacks[kContexts];
static long sum;

static void body(int number) {
  for (int i = 0; i < kRounds; ++i) {
    char* block = malloc(6000 + 16 * number);
    memset(block, number, 6000);
    swapcontext(&contexts[number], &back);
    sum += block[5999];
    free(block);
  }
}

static void* rounds(void* count) {
  for (long round = 0; round < (long)count; ++round)
    for (int i = 0; i < kContexts; ++i) swapcontext(&back, &contexts[i]);
  return NULL;
}

int main(void) {
  for (int i = 0; i < kContexts; ++i) {
    getcontext(&contexts[i]);
    stacks[i] = malloc(kStack);
    contexts[i].uc_stack.ss_sp = stacks[i];
    contexts[i].uc_stack.ss_size = kStack;
    contexts[i].uc_link = &back;
    makecontext(&contexts[i], (void (*)(void))body, 1, i);
  }
  rounds((void*)(long)(kRounds / 2));
  pthread_t other;
  pthread_create(&other, NULL, rounds, (void*)(long)(kRounds - kRounds / 2 + 1));
  pthread_join(other, NULL);
  for (int i = 0; i < kContexts; ++i) free(stacks[i]);
  printf("sum: %ld\n", sum);
  return 0;
}
