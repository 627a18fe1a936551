// Purpose: takes and frees memory as the lines of stdin say, and prints after each the bytes that it holds, as
// the allocator gave them. `a N`: a block of N bytes; `s N`: N blocks of 100 bytes; `m N`: a mapping of N
// bytes; `f`: frees the oldest block or mapping; `F N`: frees N small blocks; `c N`: N threads take and free
// blocks of 8 KiB meanwhile; `k`: a forked child answers from then on; `t N`: N steps of 2,000 blocks of 8 KiB;
// if a step ends the recording, a fork, and no further step; `p NAME`: a phase of this name; `q`: ends.
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/api/memtrace.h"

#define MOST 4096
#define SMALL 100

static struct {
  char* at;
  size_t bytes;
  int mapped;
} blocks[MOST];
static size_t first, last, held;
static char* small[1 << 20];
static size_t smalls;
static atomic_int churning;

static void* churn(void* unused) {
  while (atomic_load(&churning)) {
    char* volatile p = malloc(8192);
    free(p);
  }
  return unused;
}

static void keep(char* at, size_t bytes, int mapped) {
  if (at == NULL || at == MAP_FAILED || last == MOST) exit(3);
  memset(at, 1, bytes);
  blocks[last].at = at;
  blocks[last].bytes = mapped ? bytes : malloc_usable_size(at);
  blocks[last].mapped = mapped;
  held += blocks[last++].bytes;
}

static void let_go(void) {
  if (first == last) exit(4);
  held -= blocks[first].bytes;
  if (blocks[first].mapped)
    munmap(blocks[first].at, blocks[first].bytes);
  else
    free(blocks[first].at);
  ++first;
}

static void start_churn(size_t threads) {
  atomic_store(&churning, 1);
  for (size_t i = 0; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, churn, NULL) != 0) exit(5);
    pthread_detach(thread);
  }
}

static void take_small(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    small[smalls] = malloc(SMALL);
    held += malloc_usable_size(small[smalls++]);
  }
}

static void free_small(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    held -= malloc_usable_size(small[--smalls]);
    free(small[smalls]);
  }
}

static void fork_and_wait(void) {
  const pid_t child = fork();
  int status = 0;
  if (child == 0) _exit(0);
  if (waitpid(child, &status, 0) != child || status != 0) exit(7);
}

static void do_steps(size_t count) {
  static size_t step;
  for (size_t i = 0; i < count; ++i) {
    const int recorded = memtrace_is_recording();
    memtrace_step(step++);
    if (recorded && !memtrace_is_recording()) return fork_and_wait();
    memtrace_phase_begin("step");
    for (int block = 0; block < 2000; ++block) {
      char* volatile p = malloc(8192);
      free(p);
    }
    memtrace_phase_end();
  }
}

static void do_phase(char* line) {
  line[strcspn(line, "\n")] = 0;
  memtrace_phase_begin(line + 2);
  memtrace_phase_end();
}

int main(void) {
  static char buffer[4096], out[4096];
  setvbuf(stdin, buffer, _IOLBF, sizeof buffer);
  setvbuf(stdout, out, _IOLBF, sizeof out);
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL && line[0] != 'q') {
    const size_t n = strtoull(line + 1, NULL, 10);
    if (line[0] == 'a') keep(malloc(n), n, 0);
    if (line[0] == 'm') keep(mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), n, 1);
    if (line[0] == 'f') let_go();
    if (line[0] == 's') take_small(n);
    if (line[0] == 'F') free_small(n);
    if (line[0] == 'c') start_churn(n);
    if (line[0] == 't') do_steps(n);
    if (line[0] == 'p') do_phase(line);
    if (line[0] == 'k') {
      const pid_t child = fork();
      int status = 0;
      if (child != 0) return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 6;
    }
    printf("%d %zu\n", (int)getpid(), held);
  }
  atomic_store(&churning, 0);
  return 0;
}
