// Purpose: 512 threads at once in a forked child. Each holds a block until all of them run.
// A victim: its output must be the same with and without the tracer.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kThreads = 512, kBytes = 100000 };

static pthread_barrier_t meeting;

static void* hold(void* unused) {
  (void)unused;
  char* block = malloc(kBytes);
  memset(block, 1, kBytes);
  pthread_barrier_wait(&meeting);
  const long right = block[0] + block[kBytes - 1] == 2;
  free(block);
  return (void*)right;
}

static int child(void) {
  pthread_t threads[kThreads];
  long right = 0;
  pthread_barrier_init(&meeting, NULL, kThreads);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 * 1024);
  for (int i = 0; i < kThreads; ++i)
    if (pthread_create(&threads[i], &small, hold, NULL) != 0) return 1;
  for (int i = 0; i < kThreads; ++i) {
    void* one = NULL;
    pthread_join(threads[i], &one);
    right += (long)one;
  }
  printf("threads of the child: %ld\n", right);
  return 0;
}

int main(void) {
  const pid_t pid = fork();
  if (pid == 0) return child();
  int status = 0;
  waitpid(pid, &status, 0);
  printf("status of the child: %d\n", status);
  return 0;
}
