// Purpose: COUNT blocks of 8 KiB, each allocated below DEPTH frames and freed at once. For callgrind, which
// counts the instructions of memtrace's unwinder (docs/decisions/0011).
//
// same: all blocks have one stack. other: the stacks of two blocks in a row share only the frames of main.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int sink;

static __attribute__((noinline)) void allocate(long count) {
  for (long i = 0; i < count; ++i) {
    char* volatile block = malloc(8192);
    free(block);
  }
}
static __attribute__((noinline)) void left(int depth, long count) {
  if (depth == 0)
    allocate(count);
  else
    left(depth - 1, count);
  sink = 1; // no tail call
}
static __attribute__((noinline)) void right(int depth, long count) {
  if (depth == 0)
    allocate(count);
  else
    right(depth - 1, count);
  sink = 2;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s DEPTH COUNT same|other\n", argv[0]);
    return 2;
  }
  const int depth = atoi(argv[1]);
  const long count = atol(argv[2]);
  if (strcmp(argv[3], "same") == 0) {
    left(depth, count);
    return 0;
  }
  for (long i = 0; i < count; ++i) (i % 2 == 0 ? left : right)(depth, 1);
  return 0;
}
