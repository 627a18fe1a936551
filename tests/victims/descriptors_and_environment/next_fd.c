// Purpose: prints the open descriptors and the next free one, before and after many allocations.
// A victim: its output must be the same with and without the tracer.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void tell(void) {
  int fd = open("/dev/null", O_RDONLY);
  int open_now = 0;
  for (int i = 0; i < 1024; ++i) open_now += fcntl(i, F_GETFD) >= 0;
  printf("next: %d, open: %d\n", fd, open_now);
  close(fd);
}

int main(void) {
  tell();
  for (int i = 0; i < 200; ++i) free(memset(malloc(1 << 20), 1, 1 << 20));
  for (int i = 0; i < 20000; ++i) free(malloc(5000));
  usleep(200000);
  tell();
  return 0;
}
