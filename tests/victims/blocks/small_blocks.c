// Purpose: allocates and frees small blocks by every call, on several threads and in signal handlers, and
// counts them itself. A victim: its own count must equal the count of its trace.
//
// usage: small_blocks THREADS COUNT [signals]
// Prints births, deaths, bytes allocated and bytes freed of blocks of less than 4096 usable bytes. With
// `signals` a timer interrupts, and the handler allocates if it interrupted the tracer: libc's malloc does not
// run then.
#define _GNU_SOURCE
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

enum { kLive = 256, kSmall = 4096 };

struct Account {
  uint64_t births, deaths, allocated, freed;
};

// The handler has its own account, or this program itself would lose counts.
static _Thread_local struct Account mine, of_handler;
static struct Account sum;
static pthread_mutex_t sum_lock = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t tracer_low, tracer_high;
static long count;
static int interrupted;

static void born(struct Account* account, void* block) {
  const size_t bytes = malloc_usable_size(block);
  if (block == NULL || bytes >= kSmall) return;
  account->births++;
  account->allocated += bytes;
}
static void dies(struct Account* account, void* block) {
  const size_t bytes = malloc_usable_size(block);
  if (block == NULL || bytes >= kSmall) return;
  account->deaths++;
  account->freed += bytes;
}

static void handler(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)info;
  const uintptr_t at = (uintptr_t)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  if (at - tracer_low >= tracer_high - tracer_low) return;
  __atomic_fetch_add(&interrupted, 1, __ATOMIC_RELAXED);
  for (size_t i = 1; i <= 3; ++i) {
    void* const block = malloc(i * 100);
    born(&of_handler, block);
    if (i == 3) continue; // stays
    dies(&of_handler, block);
    free(block);
  }
}

static int find_tracer(struct dl_phdr_info* object, size_t size, void* unused) {
  (void)size;
  (void)unused;
  if (strstr(object->dlpi_name, "libmemtrace.so") == NULL) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &object->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    tracer_low = object->dlpi_addr + part->p_vaddr;
    tracer_high = tracer_low + part->p_memsz;
  }
  return 1;
}

static void* one_of(uint64_t random, size_t bytes) {
  void* block = NULL;
  switch (random % 8) {
    case 0:
      return calloc(bytes / 8 + 1, 8);
    case 1:
      return posix_memalign(&block, 64, bytes) == 0 ? block : NULL;
    case 2:
      return aligned_alloc(32, (bytes + 31) / 32 * 32);
    default:
      return malloc(bytes);
  }
}

static void* work(void* seed) {
  void* live[kLive] = {0};
  uint64_t random = 0x9E3779B97F4A7C15u * ((uintptr_t)seed + 1);
  for (long i = 0; i < count; ++i) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    void** const slot = &live[(random >> 20) % kLive];
    // Some are large, so realloc crosses the limit in both directions.
    const size_t bytes = 1 + (random >> 32) % (random % 64 == 0 ? 9000 : 700);
    if (random % 5 == 0 && *slot != NULL) {
      const struct Account before = mine;
      dies(&mine, *slot);
      void* const moved = realloc(*slot, random % 500 == 0 ? (size_t)1 << 60 : bytes);
      if (moved == NULL)
        mine = before; // realloc failed: the old block is still alive
      else
        born(&mine, *slot = moved);
      continue;
    }
    dies(&mine, *slot);
    free(*slot);
    born(&mine, *slot = one_of(random >> 8, bytes));
  }
  for (int i = 0; i < kLive; ++i) {
    dies(&mine, live[i]);
    free(live[i]);
  }
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  pthread_mutex_lock(&sum_lock);
  const struct Account* const both[] = {&mine, &of_handler};
  for (int i = 0; i < 2; ++i) {
    sum.births += both[i]->births;
    sum.deaths += both[i]->deaths;
    sum.allocated += both[i]->allocated;
    sum.freed += both[i]->freed;
  }
  pthread_mutex_unlock(&sum_lock);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const long threads = strtol(argv[1], NULL, 10);
  count = strtol(argv[2], NULL, 10);
  pthread_t others[64];
  if (threads < 1 || threads > 64) return 2;
  dl_iterate_phdr(find_tracer, NULL);
  if (argc > 3) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    const struct itimerval timer = {{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &timer, NULL);
  }
  for (long t = 0; t < threads; ++t) pthread_create(&others[t], NULL, work, (void*)(intptr_t)t);
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm, NULL); // the workers receive the signal
  for (long t = 0; t < threads; ++t) pthread_join(others[t], NULL);
  const struct itimerval off = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &off, NULL);
  printf("%lu %lu %lu %lu\n", sum.births, sum.deaths, sum.allocated, sum.freed);
  if (argc > 3) fprintf(stderr, "%d\n", interrupted);
  return 0;
}
