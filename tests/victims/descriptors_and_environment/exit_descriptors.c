// Purpose: runs a program and lists its descriptors at the instant when it ends.
// It starts victims and is not a victim itself.
//
// usage: exit_descriptors FILE PROGRAM [ARGUMENT...]     ends as the program did
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void list(const char* to, pid_t pid) {
  char name[64], path[400], link[4096];
  snprintf(name, sizeof name, "/proc/%d/fd", pid);
  FILE* out = fopen(to, "w");
  DIR* folder = opendir(name);
  for (const struct dirent* entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", name, entry->d_name);
    const ssize_t length = readlink(path, link, sizeof link - 1);
    if (length < 0) continue;
    link[length] = 0;
    fprintf(out, "%s %s\n", entry->d_name, link);
  }
  if (folder != NULL) closedir(folder);
  fclose(out);
}

static int end_like(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  signal(WTERMSIG(status), SIG_DFL);
  raise(WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const pid_t pid = fork();
  if (pid == 0) {
    if (getenv("VICTIM_PRELOAD") != NULL) setenv("LD_PRELOAD", getenv("VICTIM_PRELOAD"), 1);
    unsetenv("VICTIM_PRELOAD");
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    execvp(arguments[2], arguments + 2);
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ptrace(PTRACE_SETOPTIONS, pid, NULL, (void*)(PTRACE_O_TRACEEXIT | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL));
  ptrace(PTRACE_CONT, pid, NULL, NULL);
  while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
    const int event = status >> 16;
    if (event == PTRACE_EVENT_EXIT) list(arguments[1], pid);
    ptrace(PTRACE_CONT, pid, NULL, (void*)(long)(event != 0 ? 0 : WSTOPSIG(status)));
  }
  return end_like(status);
}
