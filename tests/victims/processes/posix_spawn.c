// Purpose: posix_spawn with attributes and file actions, from several threads at once, and of a missing
// program. A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static void* spawn_some(void* unused) {
  (void)unused;
  long good = 0;
  for (int i = 0; i < 5; ++i) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all;
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    char* arguments[] = {"/bin/echo", "said to nothing", NULL};
    free(malloc(9000));
    pid_t pid = 0;
    int status = -1;
    if (posix_spawn(&pid, arguments[0], &actions, &attributes, arguments, environ) == 0)
      waitpid(pid, &status, 0);
    good += status == 0;
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  return (void*)good;
}

int main(void) {
  pthread_t threads[4];
  long good = 0;
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, spawn_some, NULL);
  for (int i = 0; i < 4; ++i) {
    void* one = NULL;
    pthread_join(threads[i], &one);
    good += (long)one;
  }
  char* absent[] = {"/does/not/exist", NULL};
  pid_t pid = 0;
  printf("spawned: %ld, absent: %s\n", good,
         strerror(posix_spawn(&pid, absent[0], NULL, NULL, absent, environ)));
  return 0;
}
