// Purpose: loads two libraries that were linked for the same address. The ELF header of the one that the loader
// moves is not at the bias that the loader states.
// A victim: its output must be the same with and without the tracer.
#include <stdio.h>
#include <stdlib.h>

int first(void);
int second(void);

int main(void) {
  void* const block = malloc(100000);
  printf("%d, %s\n", first() + second(), block != NULL ? "allocated" : "refused");
  free(block);
  return 0;
}
