// Purpose: a process that has no event before it starts another.
//
// quiet_parent:       prints MEMTRACE_JOB in two children, which it starts by posix_spawn
// quiet_parent fork:  forks, and the child holds 64 MiB; prints both pids
// quiet_parent vfork: the child of vfork allocates first, then the parent holds 64 MiB; prints the parent's pid
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

enum { kBytes = 64 << 20 };

static void print(const char* before, long value) {
  char text[64];
  const int bytes = snprintf(text, sizeof text, "%s%ld", before, value);
  if (write(1, text, (size_t)bytes) != bytes) _exit(3);
}

static void hold(void) {
  volatile char* const block = malloc(kBytes);
  if (block == NULL) _exit(4);
  for (int i = 0; i < kBytes; i += 4096) block[i] = 1;
  free((void*)block);
}

static int wait_for(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

static int forks(void) {
  const pid_t child = fork();
  if (child == 0) {
    hold();
    return 0;
  }
  print("", getpid());
  print(" ", child);
  return wait_for(child);
}

static int vforks(void) {
  const pid_t child = vfork();
  if (child == 0) {
    free(malloc(100));
    _exit(0);
  }
  if (wait_for(child) != 0) return 1;
  hold();
  print("", getpid());
  return 0;
}

int main(int count, char** arguments) {
  if (count > 1) return strcmp(arguments[1], "fork") == 0 ? forks() : vforks();
  char* const command[] = {"sh", "-c", "echo \"$MEMTRACE_JOB\"", NULL};
  for (int i = 0; i < 2; ++i) {
    pid_t child;
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, command, environ) != 0 || wait_for(child) != 0) return 1;
  }
  return 0;
}
