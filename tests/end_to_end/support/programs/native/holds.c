// Purpose: holds 64 blocks of 1 MiB and one mapping of 8 MiB at its peak, with three threads and a forked
// child.
// "fault SANITIZER": makes one error, which that sanitizer finds. "again": the child executes the program
// itself. "shell": the child is a shell that prints the preloaded objects. It is built with each sanitizer.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 64, BLOCK = 1 << 20, MAPPING = 8 << 20 };

static int shared;

static void* work(void* unused) {
  for (int i = 0; i < 100; ++i) {
    char* p = malloc(10000 + i);
    memset(p, 1, 10000 + i);
    free(p);
    free(malloc(100));
  }
  return unused;
}

static void* race(void* unused) {
  for (int i = 0; i < 1000; ++i) ++shared;
  return unused;
}

static int status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

static void fault(const char* sanitizer) {
  int* few = malloc(10 * sizeof *few);
  volatile int at = 10;
  volatile int large = 0x7fffffff;
  if (strcmp(sanitizer, "thread") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, race, NULL);
    race(NULL);
    pthread_join(thread, NULL);
  } else if (strcmp(sanitizer, "undefined") == 0) {
    large += 1;
  } else if (strcmp(sanitizer, "memory") == 0) {
    if (few[3] == large) puts("equal");
  } else if (strcmp(sanitizer, "address") == 0) {
    few[at] = 1;
  } else {
    few = NULL; /* leak */
  }
  free(few);
}

int main(int count, char** argument) {
  const char* what = count > 1 ? argument[1] : "";
  char* kept[BLOCKS];
  for (int i = 0; i < BLOCKS; ++i) {
    kept[i] = malloc(BLOCK);
    memset(kept[i], i, BLOCK);
  }
  char* map = mmap(NULL, MAPPING, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(map, 1, MAPPING);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    free(malloc(5000));
    if (strcmp(what, "again") == 0) execl(argument[0], argument[0], NULL);
    if (strcmp(what, "shell") == 0) execl("/bin/sh", "sh", "-c", "echo $LD_PRELOAD; exit 7", NULL);
    _exit(7);
  }
  const int status = status_of(child);
  long sum = 0;
  for (int i = 0; i < BLOCKS; ++i) {
    sum += kept[i][5];
    free(kept[i]);
  }
  munmap(map, MAPPING);
  printf("%d blocks, sum %ld, child %d\n", BLOCKS, sum, status);
  fflush(stdout);
  if (strcmp(what, "fault") == 0) fault(argument[2]);
  return 7;
}
