// Purpose: cancels threads while they allocate, at once and at the next cancellation point.
// A victim: its output must be the same with and without the tracer.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int cleaned;

static void clean(void* block) {
  free(block);
  cleaned++;
}

static void* deferred(void* unused) {
  for (;;) {
    char* block = malloc(7000);
    pthread_cleanup_push(clean, block);
    usleep(10);
    pthread_cleanup_pop(0);
    free(block);
  }
  return unused;
}

static void* at_once(void* ready) {
  int old;
  volatile long turns = 0;
  for (int i = 0; i < 100; ++i) free(malloc(7000));
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
  *(atomic_int*)ready = 1;
  for (;;) turns++;
  return NULL;
}

int main(void) {
  int cancelled = 0;
  for (int i = 0; i < 200; ++i) {
    atomic_int ready = 0;
    pthread_t thread;
    void* result = NULL;
    pthread_create(&thread, NULL, i % 2 ? deferred : at_once, &ready);
    if (i % 2)
      usleep(500);
    else
      while (!ready) usleep(10);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    cancelled += result == PTHREAD_CANCELED;
  }
  printf("cancelled: %d\n", cancelled);
  free(malloc(100000));
  return 0;
}
