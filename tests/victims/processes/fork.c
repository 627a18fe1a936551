// Purpose: forks from a process with allocating threads; the children allocate, fork again and end.
// A victim: its output must be the same with and without the tracer. usage: fork [CHILDREN], 50 by default.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int stop;

static void* churn(void* unused) {
  while (!atomic_load(&stop)) free(malloc(100 + (size_t)rand() % 100000));
  return unused;
}

static int child(int depth) {
  char* block = malloc(1 << 20);
  for (int i = 0; i < 1 << 20; i += 4096) block[i] = (char)depth;
  int below = 0;
  if (depth > 0) {
    pid_t pid = fork();
    if (pid == 0) _exit(child(depth - 1));
    waitpid(pid, &below, 0);
    below = WEXITSTATUS(below);
  }
  free(block);
  return below + 1;
}

int main(int argc, char** argv) {
  const int children = argc > 1 ? atoi(argv[1]) : 50;
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, churn, NULL);
  int total = 0;
  for (int i = 0; i < children; ++i) {
    pid_t pid = fork();
    if (pid == 0) _exit(child(i % 3));
    int status;
    waitpid(pid, &status, 0);
    total += WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
  }
  atomic_store(&stop, 1);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  printf("children: %d\n", total);
  return 0;
}
