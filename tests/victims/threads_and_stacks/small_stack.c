// Purpose: makes the allocation that starts the recording on a thread with the smallest possible stack.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void* allocate(void* unused) {
  char* block = malloc(64ul << 20);
  block[0] = 1;
  free(block);
  return unused;
}

int main(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_t thread;
  if (pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) != 0 ||
      pthread_create(&thread, &attributes, allocate, NULL) != 0)
    return 1;
  pthread_join(thread, NULL);
  puts("stack was enough");
  return 0;
}
