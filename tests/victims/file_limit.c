// Purpose: a limit on the size of files with its signal held back, then let in: whose signal comes?
// A victim: its output must be the same with and without the tracer.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// Before an exec, which fails, what was recorded is written out on this thread.
static void churn(void) {
  for (int i = 0; i < 50000; ++i) free(memset(malloc(10000), 1, 10000));
  execl("/no/such/program", "program", (char*)NULL);
}

static void came(int signal) {
  printf("signal %d\n", signal);
}

int main(void) {
  sigset_t held, waiting;
  for (int i = 0; i < 50000; ++i) free(memset(malloc(10000), 1, 10000));
  const struct rlimit limit = {4096, 4096};
  setrlimit(RLIMIT_FSIZE, &limit);
  churn(); // by default the signal ends the process
  puts("still here");
  signal(SIGXFSZ, came);
  sigemptyset(&held);
  sigaddset(&held, SIGXFSZ);
  sigprocmask(SIG_BLOCK, &held, NULL);
  churn();
  sigpending(&waiting);
  printf("waiting: %d\n", sigismember(&waiting, SIGXFSZ));
  raise(SIGXFSZ); // the program's own must stay
  churn();
  sigpending(&waiting);
  printf("waiting: %d\n", sigismember(&waiting, SIGXFSZ));
  sigprocmask(SIG_UNBLOCK, &held, NULL);
  puts("end");
  return 0;
}
