// Purpose: COUNT pairs of malloc and free by THREADS threads, and nothing else; says how many allocations it
// made. Run by scripts/bench, bare and under each tool, and under callgrind.
//
// SIZE: blocks of SIZE bytes, each freed at once. SIZE 0: each thread keeps 10,000 blocks of 16 to 528 bytes
// and frees one of them, chosen at random, for each new one; so caches miss, lists are walked, filters are
// full.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kThreadsAtMost = 64, kLive = 10000, kSmallest = 16, kLargest = 528 };

struct Work {
  size_t size;
  long count;
  uint64_t random;
  long made;
};

static void* tight(void* argument) {
  struct Work* work = argument;
  for (long i = 0; i < work->count; ++i) {
    // Through a volatile pointer, or the compiler drops the pair.
    char* volatile block = malloc(work->size);
    if (block == NULL) abort();
    free(block);
  }
  work->made = work->count;
  return NULL;
}

static uint64_t next(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static void* replace(struct Work* work, void* old) {
  free(old);
  void* block = malloc(kSmallest + next(&work->random) % (kLargest - kSmallest + 1));
  if (block == NULL) abort();
  ++work->made;
  return block;
}

static void* live(void* argument) {
  struct Work* work = argument;
  void** blocks = calloc(kLive, sizeof *blocks);
  if (blocks == NULL) abort();
  ++work->made;
  for (int i = 0; i < kLive; ++i) blocks[i] = replace(work, NULL);
  for (long i = 0; i < work->count; ++i) {
    void** at = &blocks[next(&work->random) % kLive];
    *at = replace(work, *at);
  }
  for (int i = 0; i < kLive; ++i) free(blocks[i]);
  free(blocks);
  return NULL;
}

int main(int argc, char** argv) {
  const long threads = argc == 4 ? strtol(argv[1], NULL, 10) : 0;
  if (threads < 1 || threads > kThreadsAtMost) {
    fprintf(stderr, "usage: %s THREADS COUNT SIZE      1 to %d threads\n", argv[0], kThreadsAtMost);
    return 2;
  }
  const long count = strtol(argv[2], NULL, 10) / threads;
  const size_t size = strtoul(argv[3], NULL, 10);
  void* (*const body)(void*) = size == 0 ? live : tight;
  static struct Work work[kThreadsAtMost];
  pthread_t ids[kThreadsAtMost];
  for (long i = 0; i < threads; ++i) work[i] = (struct Work){size, count, 88172645463325252u + (uint64_t)i, 0};
  // The first share is the main thread's: with one thread there is none to start.
  for (long i = 1; i < threads; ++i) {
    if (pthread_create(&ids[i], NULL, body, &work[i]) != 0) abort();
  }
  body(&work[0]);
  long made = work[0].made;
  for (long i = 1; i < threads; ++i) {
    pthread_join(ids[i], NULL);
    made += work[i].made;
  }
  printf("bench: allocations=%ld\n", made);
  return 0;
}
