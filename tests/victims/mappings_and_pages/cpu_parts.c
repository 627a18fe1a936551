// Purpose: touches pages on each CPU by a thread bound to it: RSS counters kept by CPU then lack parts.
// Afterwards prints the figures of smaps_rollup, statm and status.
//
// usage: cpu_parts PAGES MS     that many by each thread, 200 at a time with a pause of MS
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, AT_ONCE = 200 };

static char* memory;
static size_t pages;
static useconds_t pause_us;

static void* touch(void* argument) {
  const long cpu = (long)argument;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  sched_setaffinity(0, sizeof only, &only);
  for (size_t i = 0; i < pages; ++i) {
    memory[((size_t)cpu * pages + i) * PAGE] = 1;
    if (i % AT_ONCE == 0) usleep(pause_us);
  }
  return NULL;
}

static long kib(const char* path, const char* key) {
  char line[512];
  long value = -1;
  FILE* const file = fopen(path, "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, key, strlen(key)) == 0) value = atol(line + strlen(key));
  if (file != NULL) fclose(file);
  return value;
}

int main(int count, char** arguments) {
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  if (count != 3) return 2;
  pages = (size_t)atol(arguments[1]);
  pause_us = (useconds_t)atol(arguments[2]) * 1000;
  const size_t bytes = pages * PAGE * (size_t)cpus;
  memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  pthread_t* const threads = calloc((size_t)cpus, sizeof *threads);
  for (long cpu = 0; cpu < cpus; ++cpu) pthread_create(&threads[cpu], NULL, touch, (void*)cpu);
  for (long cpu = 0; cpu < cpus; ++cpu) pthread_join(threads[cpu], NULL);
  sleep(60);
  printf("KiB: Rss of smaps_rollup %ld, Anonymous %ld, RssAnon %ld, VmRSS %ld, VmHWM %ld\n",
         kib("/proc/self/smaps_rollup", "Rss:"), kib("/proc/self/smaps_rollup", "Anonymous:"),
         kib("/proc/self/status", "RssAnon:"), kib("/proc/self/status", "VmRSS:"),
         kib("/proc/self/status", "VmHWM:"));
  return 0;
}
