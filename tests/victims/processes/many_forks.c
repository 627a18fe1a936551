// Purpose: 200 children, some at once, allocate and end in every way; then a chain of 20 generations.
// A victim: its output must be the same with and without the tracer.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void allocate(void) {
  char* block = malloc(150000);
  memset(block, 1, 150000);
  free(block);
}

static int generation(int left) {
  allocate();
  if (left == 0) return 7;
  const pid_t child = fork();
  if (child == 0) _exit(generation(left - 1));
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

int main(void) {
  int counts[4] = {0};
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 10; ++i) {
      if (fork() != 0) continue;
      allocate();
      if (i % 3 == 0) _exit(1);
      if (i % 3 == 1) raise(SIGKILL);
      exit(2);
    }
    int status;
    while (wait(&status) > 0) counts[WIFSIGNALED(status) ? 3 : WEXITSTATUS(status)]++;
  }
  printf("_exit %d, exit %d, killed %d; the last of the chain: %d\n", counts[1], counts[2], counts[3],
         generation(20));
  return 0;
}
