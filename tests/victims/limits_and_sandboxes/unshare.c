// Purpose: unshares a user namespace, which the kernel refuses to a process with more than one thread.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void churn(void) {
  for (int i = 0; i < 5000; ++i) free(memset(malloc(10000), 1, 10000));
}

int main(void) {
  for (int raw = 0; raw < 2; ++raw) {
    churn();
    pid_t pid = fork();
    if (pid == 0) {
      churn();
      long result = raw ? syscall(SYS_unshare, CLONE_NEWUSER) : unshare(CLONE_NEWUSER);
      churn();
      _exit(result == 0 ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    printf("%s: %d\n", raw ? "raw" : "unshare", WEXITSTATUS(status));
  }
  churn();
  printf("itself: %d\n", unshare(CLONE_NEWUSER));
  churn();
  return 0;
}
