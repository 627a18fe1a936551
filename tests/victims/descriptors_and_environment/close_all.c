// Purpose: closes every descriptor, also by close_range, and goes on: none of them may be the tracer's.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int main(void) {
  for (int i = 0; i < 3000; ++i) free(memset(malloc(10000), 1, 10000));
  close_range(3, ~0u, 0);
  for (int fd = 3; fd < 1024; ++fd) close(fd);
  printf("next: %d\n", open("/dev/null", O_RDONLY));
  int target = dup2(1, 200);
  for (int i = 0; i < 3000; ++i) free(memset(malloc(10000), 1, 10000));
  printf("dup2: %d next: %d\n", target, open("/dev/null", O_RDONLY));
  fflush(stdout);
  close_range(0, ~0u, 0);
  for (int i = 0; i < 3000; ++i) free(memset(malloc(10000), 1, 10000));
  return open("/dev/null", O_RDWR) == 0 ? 0 : 1;
}
