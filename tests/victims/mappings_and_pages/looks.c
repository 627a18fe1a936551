// Purpose: makes one shape of address space, waits, and prints the CPU time of memtrace's thread meanwhile. A
// victim whose address space is expensive to measure.
//
// usage: looks SECONDS SHAPE ...
//   reserve TIB MIB PIECES     one mapping without reservation, MIB of it touched in PIECES places
//   mappings COUNT             so many mappings that the kernel cannot merge, one in 16 with its page in memory
//   huge MIB                   of the kernel's pool of huge pages, all touched
//   threads COUNT              so many threads at once, all asleep
//   grow MIB STEP_KIB MIB_PER_S HUGE   one mapping, touched from its start at that pace; 0: as fast as it goes;
//                                      HUGE 1: in huge pages, so that a busy machine reaches the pace as well
// On stdout at the end: "cpu_ns N now_ns N": CPU time of tasks that main did not make and the monotonic clock
// just before exit.
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const size_t kPage = 4096;
static pthread_barrier_t together;

static unsigned long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static char* map(size_t bytes, int more) {
  char* const at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more, -1, 0);
  if (at == MAP_FAILED) {
    perror("mmap");
    exit(2);
  }
  return at;
}

static void reserve(size_t tib, size_t mib, size_t pieces) {
  const size_t bytes = tib << 40, piece = (mib << 20) / pieces / kPage * kPage;
  char* const at = map(bytes, MAP_NORESERVE);
  madvise(at, bytes, MADV_NOHUGEPAGE); // a touch then makes one small page resident
  for (size_t i = 0; i < pieces; ++i) memset(at + bytes / pieces / kPage * i * kPage, 1, piece);
}

static void mappings(size_t count) {
  char* const at = map(count * kPage, 0);
  for (size_t i = 0; i < count; i += 16) at[i * kPage] = 1;
  for (size_t i = 1; i < count; i += 2)
    if (mprotect(at + i * kPage, kPage, PROT_READ) != 0) {
      perror("mprotect");
      exit(3);
    }
}

static void* sleeper(void* unused) {
  (void)unused;
  pthread_barrier_wait(&together);
  for (;;) pause();
  return NULL;
}

static void threads(size_t count) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 32 * 1024);
  pthread_barrier_init(&together, NULL, count + 1);
  for (size_t i = 0; i < count; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, &small, sleeper, NULL) != 0) {
      perror("pthread_create");
      exit(3);
    }
  }
  pthread_barrier_wait(&together);
}

static void grow(size_t mib, size_t step, size_t pace, size_t huge) {
  const size_t bytes = mib << 20;
  char* const at = map(bytes, 0);
  if (huge) madvise(at, bytes, MADV_HUGEPAGE);
  const unsigned long long start = now_ns();
  for (size_t done = 0; done < bytes; done += step) {
    memset(at + done, 1, step);
    while (pace != 0 && (now_ns() - start) / 1000 * pace < done / 1048576 * 1000000ull) {
    }
  }
}

// Returns the CPU time of tasks that the program did not make. `made` does not count the first thread and those
// of threads().
static unsigned long long cpu_of_others(size_t made) {
  unsigned long long sum = 0;
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == NULL) return 0;
  for (struct dirent* task; made == 0 && (task = readdir(tasks)) != NULL;) {
    char path[300];
    if (task->d_name[0] == '.' || atoi(task->d_name) == getpid()) continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task->d_name);
    FILE* const file = fopen(path, "r");
    unsigned long long ns = 0;
    if (file != NULL && fscanf(file, "%llu", &ns) == 1) sum += ns;
    if (file != NULL) fclose(file);
  }
  closedir(tasks);
  return sum;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const unsigned long long start = now_ns();
  size_t made = 0, value[4] = {0, 1, 1, 0};
  for (int i = 3; i < argc && i < 7; ++i) value[i - 3] = strtoul(argv[i], NULL, 10);
  free(malloc(1 << 20)); // an event, which starts the recording
  if (strcmp(argv[2], "reserve") == 0)
    reserve(value[0], value[1], value[2]);
  else if (strcmp(argv[2], "mappings") == 0)
    mappings(value[0]);
  else if (strcmp(argv[2], "huge") == 0)
    memset(map(value[0] << 20, MAP_HUGETLB), 1, value[0] << 20);
  else if (strcmp(argv[2], "threads") == 0)
    threads(made = value[0]);
  else if (strcmp(argv[2], "grow") == 0)
    grow(value[0], value[1] << 10, value[2], value[3]);
  else
    return 2;
  const unsigned long long end = now_ns() + strtoul(argv[1], NULL, 10) * 1000000000ull;
  while (now_ns() < end) {
    usleep(50000);
    free(malloc(1 << 20));
  }
  const unsigned long long cpu = cpu_of_others(made), now = now_ns();
  printf("cpu_ns %llu elapsed_ns %llu now_ns %llu\n", cpu, now - start, now);
  fflush(stdout);
  _Exit(0);
}
