// Purpose: vfork and exec, and a vfork with a failing exec: the child runs on its parent's stack.
// A victim: its output must be the same with and without the tracer.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int status_of(const char* path) {
  int status;
  pid_t pid = vfork();
  if (pid == 0) {
    execl(path, path, "-c", "exit 7", (char*)NULL);
    _exit(42);
  }
  waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

int main(void) {
  void* kept = malloc(100000);
  printf("ran: %d\n", status_of("/bin/sh"));
  printf("missing: %d\n", status_of("/nonexistent/program"));
  free(kept);
  free(malloc(100000));
  puts("parent goes on");
  return 0;
}
