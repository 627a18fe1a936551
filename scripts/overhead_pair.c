// Room: scripts. Run by scripts/overhead under callgrind, bare and with the preload object.
// Job: COUNT pairs of malloc(SIZE) and free, and nothing else, so that two counts give the cost of one pair.
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s SIZE COUNT\n", argv[0]);
    return 2;
  }
  const size_t size = strtoul(argv[1], NULL, 10);
  const long count = strtol(argv[2], NULL, 10);
  for (long i = 0; i < count; ++i) {
    // Through a volatile pointer, or the compiler drops the pair.
    char* volatile block = malloc(size);
    if (block == NULL) return 1;
    free(block);
  }
  return 0;
}
