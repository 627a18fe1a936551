// Purpose: reaches the file size limit with SIGXFSZ blocked, then unblocked, to see whose signal is pending.
// A victim: its output must be the same with and without the tracer.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// Fills the rings, then calls an exec that fails: before an exec, this thread writes out the events.
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
  churn(); // with the default action, the signal would end the process
  puts("still here");
  signal(SIGXFSZ, came);
  sigemptyset(&held);
  sigaddset(&held, SIGXFSZ);
  sigprocmask(SIG_BLOCK, &held, NULL);
  churn();
  sigpending(&waiting);
  printf("waiting: %d\n", sigismember(&waiting, SIGXFSZ));
  raise(SIGXFSZ); // the program's own signal must stay pending
  churn();
  sigpending(&waiting);
  printf("waiting: %d\n", sigismember(&waiting, SIGXFSZ));
  sigprocmask(SIG_UNBLOCK, &held, NULL);
  puts("end");
  return 0;
}
