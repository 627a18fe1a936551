// Purpose: executes itself five times, with memory held each time; the last one prints.
// A victim: its output must be the same with and without the tracer.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int left = argc > 1 ? atoi(argv[1]) : 5;
  char* block = malloc(2 << 20);
  memset(block, left, 2 << 20);
  if (left == 0) {
    puts("end of the chain");
    return 5;
  }
  char number[16];
  snprintf(number, sizeof number, "%d", left - 1);
  printf("link %d\n", left);
  fflush(stdout);
  execl("/proc/self/exe", argv[0], number, (char*)NULL);
  return 99;
}
