// Purpose: pairs COUNT: COUNT times a block of 64 bytes and one of 8 KiB, each freed at once.
// Under callgrind, it gives the instructions of a pair.
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** words) {
  if (count != 2) return 2;
  const long pairs = strtol(words[1], NULL, 10);
  for (long i = 0; i < pairs; ++i) {
    // The pointer is volatile, or the compiler removes the pair.
    void* volatile block = malloc(64);
    free(block);
    block = malloc(8192);
    free(block);
  }
  printf("%ld\n", pairs);
  return 0;
}
