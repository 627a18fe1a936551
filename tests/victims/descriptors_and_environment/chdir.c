// Purpose: changes directory, removes it, lowers the umask: the trace's place was decided before.
// A victim: its output must be the same with and without the tracer.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
  char place[] = "/tmp/victim-chdir-XXXXXX";
  umask(0777);
  if (mkdtemp(place) == NULL || chmod(place, 0700) != 0 || chdir(place) != 0) return 1;
  for (int i = 0; i < 5000; ++i) free(memset(malloc(10000), 1, 10000));
  // Fails if anything was written here.
  printf("empty: %d\n", rmdir(place) == 0);
  for (int i = 0; i < 5000; ++i) free(memset(malloc(10000), 1, 10000));
  printf("umask: %o\n", umask(022));
  return 0;
}
