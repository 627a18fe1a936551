// Purpose: run a command to its end, with all that it leaves behind, and write down what the kernel counted for
// it. Run by scripts/bench around every program it measures.
//
// usage: launch RESULT [NAME=VALUE...] COMMAND [ARGUMENT...]
// In C and small, since a child's highest RSS begins with that of the process that forked it; and a tool's
// helpers that outlive the program become children of this one, so that their CPU time is counted too.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double seconds(struct timeval time) {
  return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static _Noreturn void become(char** command) {
  for (; *command != NULL && strchr(*command, '=') != NULL; ++command) putenv(*command);
  if (*command != NULL) execvp(*command, command);
  fprintf(stderr, "launch: cannot run '%s': %s\n", *command != NULL ? *command : "", strerror(errno));
  _exit(127);
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s RESULT [NAME=VALUE...] COMMAND [ARGUMENT...]\n", argv[0]);
    return 2;
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const double began = now();
  const pid_t program = fork();
  if (program < 0) return 2;
  if (program == 0) become(argv + 2);

  double wall = 0;
  double cpu = 0;
  long rss = 0;
  int end = 0;
  for (;;) {
    int status = 0;
    struct rusage usage;
    const pid_t ended = wait4(-1, &status, 0, &usage);
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) break;
    cpu += seconds(usage.ru_utime) + seconds(usage.ru_stime);
    if (usage.ru_maxrss > rss) rss = usage.ru_maxrss;
    if (ended == program) {
      wall = now() - began;
      end = status;
    }
  }
  FILE* result = fopen(argv[1], "w");
  if (result == NULL) return 2;
  const int code = WIFEXITED(end) ? WEXITSTATUS(end) : 128 + WTERMSIG(end);
  fprintf(result, "{\"status\": %d, \"wall\": %.6f, \"cpu\": %.6f, \"rss\": %ld}\n", code, wall, cpu,
          rss * 1024);
  return fclose(result) == 0 ? 0 : 2;
}
