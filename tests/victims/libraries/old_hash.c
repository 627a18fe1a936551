// Purpose: takes memory from a library whose symbols are only in the older of the two hash tables.
// A victim: its output must be the same with and without the tracer.
#include <stdio.h>
#include <stdlib.h>

int is_of_pool(const void* block);

int main(void) {
  void* const block = malloc(100000);
  void* const other = calloc(10, 10);
  printf("of the pool: %d and %d\n", is_of_pool(block), is_of_pool(other));
  free(block);
  free(other);
  return 0;
}
