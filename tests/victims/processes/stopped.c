// Purpose: stops a child with busy threads for a while, by SIGSTOP or a freezer cgroup, and resumes it.
// A victim: its output must be the same with and without the tracer.
//
// usage: stopped MILLISECONDS [FREEZER]     FREEZER: the directory of a cgroup of its own
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kThreads = 4 };

static _Atomic long* shared; /* 0: rounds; 1: the child may end */

static void* work(void* unused) {
  (void)unused;
  while (shared[1] == 0) {
    char* block = malloc(5000);
    block[4999] = 1;
    free(block);
    shared[0]++;
    usleep(100);
  }
  return NULL;
}

static int child(void) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  puts("the child ends");
  return 0;
}

static void write_to(const char* folder, const char* name, const char* text) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE* file = fopen(path, "w");
  if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
    puts("refused");
    exit(77);
  }
}

static void wait_for(long more) {
  for (const long from = shared[0]; shared[0] < from + more;) usleep(1000);
}

int main(int count, char** arguments) {
  char pid[32];
  int status = 0;
  const useconds_t span = count > 1 ? (useconds_t)atoi(arguments[1]) * 1000 : 1000000;
  const char* freezer = count > 2 ? arguments[2] : NULL;
  shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const pid_t started = fork();
  if (started == 0) return child();
  wait_for(2000);
  snprintf(pid, sizeof pid, "%d", started);
  if (freezer != NULL) {
    write_to(freezer, "cgroup.procs", pid);
    write_to(freezer, "freezer.state", "FROZEN");
  } else {
    kill(started, SIGSTOP);
    waitpid(started, &status, WUNTRACED);
  }
  usleep(100000); /* until the last thread has stopped */
  const long at = shared[0];
  usleep(span);
  printf("it stood: %d\n", shared[0] == at);
  if (freezer != NULL)
    write_to(freezer, "freezer.state", "THAWED");
  else
    kill(started, SIGCONT);
  wait_for(2000);
  shared[1] = 1;
  waitpid(started, &status, 0);
  printf("status of the child: %d\n", status);
  return 0;
}
