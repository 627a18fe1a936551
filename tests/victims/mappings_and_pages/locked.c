// Purpose: mlockall for current and future memory, then blocks, mappings and threads; also a limit on locked
// memory. A victim: its output must be the same with and without the tracer.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void* work(void* unused) {
  (void)unused;
  for (int i = 0; i < 200; ++i) {
    char* block = malloc(20000);
    block[19999] = 1;
    free(block);
  }
  return NULL;
}

int main(void) {
  const int locked = mlockall(MCL_CURRENT | MCL_FUTURE);
  printf("locked: %s\n", locked == 0 ? "yes" : strerror(errno));
  char* map = mmap(NULL, 1 << 22, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char there[1024];
  printf("all there: %d\n", locked != 0 || (mincore(map, 1 << 22, there) == 0 && (there[0] & there[1023] & 1)));
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  usleep(300000);
  printf("unlocked: %d\n", munlockall());
  return 0;
}
