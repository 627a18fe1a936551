// Purpose: forks while one thread is in dl_iterate_phdr and another opens and closes a library. The children
// allocate from places that no walk has seen. If a walk there takes a lock of the loader, the child hangs.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kChildren = 40, kLooks = 5000, kLookEach = 2000 }; // a child that takes 10 s hangs

static atomic_int stop;

static int pause_in_loader(struct dl_phdr_info* info, size_t bytes, void* unused) {
  (void)info, (void)bytes, (void)unused;
  usleep(200);
  return 0;
}
static void* visit_objects(void* unused) {
  while (!atomic_load(&stop)) dl_iterate_phdr(pause_in_loader, NULL);
  return unused;
}
static void* open_library(void* unused) {
  while (!atomic_load(&stop)) {
    void* library = dlopen("libresolv.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) dlclose(library);
  }
  return unused;
}

// The parent never calls it.
static __attribute__((noinline)) void allocate(int depth) {
  volatile char pad[32];
  pad[0] = (char)depth;
  void* block = malloc(8192);
  if (depth > 0) allocate(depth - 1);
  pad[1] = pad[0];
  free(block);
}

static int ends(pid_t child) {
  for (int i = 0; i < kLooks; ++i) {
    if (waitpid(child, NULL, WNOHANG) == child) return 1;
    usleep(kLookEach);
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return 0;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, visit_objects, NULL);
  pthread_create(&threads[1], NULL, open_library, NULL);
  int hung = 0;
  for (int i = 0; i < kChildren && hung < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      allocate(5);
      _exit(0);
    }
    hung += !ends(child);
    usleep(1000);
  }
  atomic_store(&stop, 1);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  printf("hung: %d\n", hung);
  return 0;
}
