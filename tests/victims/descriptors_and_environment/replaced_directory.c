// Purpose: moves a directory away while the program runs; a link to another one takes its name.
// A victim: its output must be the same with and without the tracer.
//
// usage: replaced_directory DIRECTORY OTHER
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void allocate(void) {
  for (int i = 0; i < 20000; ++i) {
    char* block = malloc(8192);
    block[0] = 1;
    free(block);
  }
}

int main(int count, char** arguments) {
  char moved[4096];
  if (count != 3) return 2;
  mkdir(arguments[1], 0700);
  mkdir(arguments[2], 0700);
  allocate();
  snprintf(moved, sizeof moved, "%s.moved", arguments[1]);
  printf("moved: %d\n", rename(arguments[1], moved));
  printf("replaced: %d\n", symlink(arguments[2], arguments[1]));
  allocate();
  usleep(600000); /* longer than the recorder's check interval */
  allocate();
  return 0;
}
