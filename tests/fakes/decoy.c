// Purpose: says in the file DECOY that it was opened.
// Stands for any library of CUDA's, by its name alone.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void opened(void) {
  const char* path = getenv("DECOY");
  if (path != NULL) close(open(path, O_WRONLY | O_CREAT, 0600));
}
