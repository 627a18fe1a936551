// Purpose: allocates deep in a recursion, on a tiny thread stack, on a sigaltstack and with a foreign stack
// pointer. A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

static volatile int depth_reached, handled;

static int deep(int left) {
  volatile char frame[64];
  frame[0] = (char)left;
  void* block = malloc(5000);
  int below = left == 0 ? 0 : deep(left - 1);
  free(block);
  return below + 1 + frame[0] - (char)left;
}

static void* small(void* unused) {
  depth_reached = deep(40);
  return unused;
}

static void on_signal(int number) {
  (void)number;
  free(malloc(6000));
  handled = 1;
}

static ucontext_t back, other;
static void elsewhere(void) {
  free(malloc(7000));
  depth_reached = deep(20);
}

int main(void) {
  printf("deep: %d\n", deep(20000));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN + 16384);
  pthread_t thread;
  pthread_create(&thread, &attributes, small, NULL);
  pthread_join(thread, NULL);
  printf("small stack: %d\n", depth_reached);

  stack_t stack = {.ss_sp = malloc(32768), .ss_size = 32768};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
  printf("alternate stack: %d\n", handled);

  getcontext(&other);
  other.uc_stack.ss_sp = malloc(65536);
  other.uc_stack.ss_size = 65536;
  other.uc_link = &back;
  makecontext(&other, elsewhere, 0);
  swapcontext(&back, &other);
  printf("foreign stack: %d\n", depth_reached);
  return 0;
}
