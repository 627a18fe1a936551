// Purpose: few descriptors, then no address space, then files of size 0: the tracer may lose events, the
// program must not fail. A victim: its output must be the same with and without the tracer.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void churn(void) {
  for (int i = 0; i < 5000; ++i) free(memset(malloc(10000), 1, 10000));
}

int main(int argc, char** argv) {
  const char* which = argc > 1 ? argv[1] : "nofile";
  struct rlimit limit = {3, 3};
  churn();
  if (strcmp(which, "nofile") == 0) {
    setrlimit(RLIMIT_NOFILE, &limit);
    churn();
    int fd = open("/dev/null", O_RDONLY);
    printf("open: %d %s\n", fd, strerror(errno));
  }
  if (strcmp(which, "as") == 0) {
    limit.rlim_cur = limit.rlim_max = 1u << 20; // less than the process has: every further mmap fails
    setrlimit(RLIMIT_AS, &limit);
    errno = 0;
    void* block = malloc(64 << 20);
    printf("malloc: %d %s\n", block != NULL, strerror(errno));
    for (int i = 0; i < 5000; ++i) free(malloc(1000));
  }
  if (strcmp(which, "fsize") == 0) {
    limit.rlim_cur = limit.rlim_max = 0; // a write to a file gives SIGXFSZ, which must not reach the program
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 20; ++i) churn();
    puts("no signal");
  }
  return 0;
}
