// Purpose: calls mlockall with the flags of argv[1], under a limit of argv[2] KiB if given, and shows what is
// locked then and later. A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { kPiece = 1 << 20, kPieces = 2 };

static void show(const char* when) {
  char line[256];
  FILE* const status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, "VmLck:", 6) == 0) printf("%s %s", when, line);
  fclose(status);
}

// Allocates pieces by mmap, each with a spare page around it.
static void grow(void) {
  for (int i = 0; i < kPieces; ++i) memset(malloc(kPiece), 1, kPiece);
}

int main(int argc, char** argv) {
  if (argc > 2) {
    const rlim_t bytes = (rlim_t)atol(argv[2]) << 10;
    const struct rlimit limit = {bytes, bytes};
    setrlimit(RLIMIT_MEMLOCK, &limit);
  }
  grow();
  errno = 0;
  const int result = mlockall(atoi(argv[1]));
  printf("mlockall %d %s\n", result, strerror(errno));
  show("at once");
  grow();
  show("later");
  printf("munlockall %d\n", munlockall());
  show("at the end");
  return 0;
}
