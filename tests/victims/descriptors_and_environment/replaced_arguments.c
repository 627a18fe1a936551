// Purpose: its arguments are replaced by texts elsewhere before the recorder's constructor runs.
// A victim: its output must be the same with and without the tracer.
#include <stdio.h>
#include <stdlib.h>

int replaced_arguments(void);

int main(int argc, char** argv) {
  free(malloc(100000));
  printf("%d of %d replaced, the last is %s\n", replaced_arguments(), argc - 1, argv[argc - 1]);
  return 0;
}
