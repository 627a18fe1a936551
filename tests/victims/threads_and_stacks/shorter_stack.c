// Purpose: runs the same calls on a large stack and then, at the same addresses, on a smaller one. The memory
// above the smaller one is gone. The recorder may compare only words of the present stack with those of an
// earlier walk.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { kPage = 4096, kSmall = 8 * kPage, kLarge = 32 * kPage, kMost = 4096 };

static ucontext_t outside, inside;
static char* stack;
static int depth, blocks, is_trial;
static uintptr_t place; // of the innermost frame

// The frames of a recursion have the same return address, and lie at the same distance.
__attribute__((noinline)) static int call(int left) {
  char here[40];
  asm volatile("" : : "r"(here) : "memory");
  if (left > 0) return call(left - 1) + (here[0] == 'x');
  place = (uintptr_t)__builtin_frame_address(0);
  if (is_trial) return 0;
  void* const block = malloc(100000);
  blocks += block != NULL;
  free(block);
  return 1;
}

static void body(void) {
  call(depth);
}

static void run_on(size_t bytes, int frames) {
  depth = frames;
  getcontext(&inside);
  inside.uc_stack.ss_sp = stack;
  inside.uc_stack.ss_size = bytes;
  inside.uc_link = &outside;
  makecontext(&inside, body, 0);
  swapcontext(&outside, &inside);
}

static uintptr_t place_in(size_t bytes, int frames) {
  is_trial = 1;
  run_on(bytes, frames);
  is_trial = 0;
  return place;
}

int main(void) {
  stack = mmap(NULL, kLarge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) return 1;
  for (int few = 10; few < 40; ++few) {
    const uintptr_t wanted = place_in(kSmall, few);
    for (int many = few; many < kMost && place_in(kLarge, many) >= wanted; ++many) {
      if (place != wanted) continue;
      for (int i = 0; i < 4; ++i) run_on(kLarge, many);
      munmap(stack + kSmall, kLarge - kSmall);
      for (int i = 0; i < 4; ++i) run_on(kSmall, few);
      mmap(stack + kSmall, kLarge - kSmall, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
           0);
      break;
    }
  }
  printf("%d blocks\n", blocks);
  return 0;
}
