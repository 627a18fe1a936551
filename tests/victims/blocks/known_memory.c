// Purpose: takes memory of every kind in known sizes, and prints the figures of the allocator and the kernel.
// It frees every other of its first blocks, and malloc retains their memory. With the argument `spike`, it only
// takes 256 MiB and frees them at once. With `zeros`, it reads 100 MiB that it never wrote to, and
// writes 50 MiB. With `shrunk`, a thread frees the top of its own arena, and every other block below it.
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static char page[4096];
static size_t in_use;

static void* idle(void* unused) {
  char deep[MIB * 5 / 2];
  memset(deep, 1, sizeof deep);
  *(void* volatile*)unused = deep;
  for (;;) pause();
  return NULL;
}

static char* take(size_t bytes) {
  char* p = malloc(bytes);
  in_use += malloc_usable_size(p);
  return p;
}

static char* map(size_t bytes, int flags, int fd) {
  char* p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (p == MAP_FAILED) exit(2);
  return p;
}

static size_t resident(void) {
  size_t size = 0, pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%zu %zu", &size, &pages) != 2) exit(2);
  fclose(file);
  return pages * 4096;
}

static int spike(void) {
  char* p = malloc(256 * MIB);
  memset(p, 1, 256 * MIB);
  free(p);
  usleep(300000);
  return 0;
}

static int zeros(void) {
  volatile char* p = map(100 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  madvise((void*)p, 100 * MIB, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < 100 * MIB; i += sizeof page) (void)p[i];
  memset(map(50 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1), 1, 50 * MIB);
  free(malloc(MIB));
  printf("rss %zu\n", resident());
  fflush(stdout);
  usleep(300000);
  return 0;
}

/* Returns the resident bytes of the mapping that contains `address`, as the kernel counts them. */
static size_t resident_around(const void* address) {
  FILE* file = fopen("/proc/self/smaps", "r");
  char line[512];
  size_t start = 0, end = 0, kib = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "%zx-%zx ", &start, &end) == 2) continue;
    if ((size_t)address < start || (size_t)address >= end) continue;
    if (sscanf(line, "Rss: %zu kB", &kib) == 1) break;
  }
  if (file != NULL) fclose(file);
  return kib * 1024;
}

static void* fill_an_arena(void* blocks) {
  char** all = blocks;
  for (int i = 0; i < 96; ++i) memset(all[i] = malloc(MIB / 2), 1, MIB / 2);
  for (int i = 95; i > 32; --i) free(all[i]); /* the top: glibc discards its pages */
  for (int i = 0; i < 32; i += 2) free(all[i]);
  return NULL;
}

static int shrunk(void) {
  static char* blocks[96];
  pthread_t thread;
  mallopt(M_MMAP_THRESHOLD, 64 * (int)MIB);
  pthread_create(&thread, NULL, fill_an_arena, blocks);
  pthread_join(thread, NULL);
  for (int i = 1; i <= 32; i += i < 31 ? 2 : 1) in_use += malloc_usable_size(blocks[i]);
  printf("kept %zu\n", resident_around(blocks[1]) - in_use);
  fflush(stdout);
  usleep(300000);
  return 0;
}

int main(int count, char** arguments) {
  if (count == 2 && strcmp(arguments[1], "shrunk") == 0) return shrunk();
  if (count == 2) return strcmp(arguments[1], "spike") == 0 ? spike() : zeros();
  static void* deep;
  pthread_t thread;
  pthread_create(&thread, NULL, idle, &deep);
  mallopt(M_MMAP_THRESHOLD, 64 * (int)MIB); /* glibc: all blocks are in the heap, and none is returned */
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  char* blocks[64];
  for (int i = 0; i < 64; ++i) memset(blocks[i] = malloc(MIB / 2), 1, MIB / 2);
  for (int i = 0; i < 64; ++i) {
    if (i % 2)
      in_use += malloc_usable_size(blocks[i]);
    else
      free(blocks[i]);
  }
  for (int i = 0; i < 200000; ++i) *take(40) = 1;
  take(20 * MIB); /* never touched */
  in_use -= 20 * MIB;
  memset(map(40 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1), 1, 25 * MIB);
  map(64 * MIB, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  memset(map(10 * MIB, MAP_SHARED | MAP_ANONYMOUS, -1), 1, 10 * MIB);
  int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);
  for (size_t i = 0; i < 8 * MIB; i += sizeof page) write(fd, page, sizeof page);
  char* file = map(8 * MIB, MAP_SHARED, fd);
  for (size_t i = 0; i < 6 * MIB; i += sizeof page) file[i] = 1;
  while (deep == NULL) usleep(1000);
  struct mallinfo2 said = mallinfo2(); /* the figures of glibc, even under another allocator */
  printf("in_use %zu\nkept %zu\nrss %zu\n", in_use, said.fordblks, resident());
  fflush(stdout);
  usleep(300000); /* the recorder samples every 10 ms */
  return 0;
}
