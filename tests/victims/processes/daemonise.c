// Purpose: becomes a daemon by two forks and reports through a pipe after the first process has ended.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  int pipes[2];
  if (pipe(pipes) != 0) return 1;
  if (fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    if (chdir("/") != 0) _exit(1);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
    for (int i = 0; i < 5000; ++i) free(memset(malloc(20000), 1, 20000));
    ssize_t sent = write(pipes[1], "daemon was here", 15);
    _exit(sent == 15 ? 0 : 1);
  }
  close(pipes[1]);
  char text[32] = "";
  size_t got = 0;
  for (ssize_t n; (n = read(pipes[0], text + got, sizeof text - 1 - got)) > 0;) got += (size_t)n;
  wait(NULL);
  printf("%s\n", text);
  return 0;
}
