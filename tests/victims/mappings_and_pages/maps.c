// Purpose: maps memory in every way: reservations, protection, holes, moves, overlays, shared memory, files.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kMiB = 1 << 20 };
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

static char* anonymous(size_t bytes, int protection) {
  return mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}
static void tell(const char* what, int good) {
  printf("%s: %s\n", what, good ? "ok" : strerror(errno));
}

int main(void) {
  const int rw = PROT_READ | PROT_WRITE;
  char* reservation = anonymous(64ul << 30, PROT_NONE);
  tell("64 GiB reserved", reservation != MAP_FAILED);
  tell("opened", mprotect(reservation + kMiB, 4 * kMiB, rw) == 0);
  memset(reservation + kMiB, 1, 4 * kMiB);
  tell("closed", mprotect(reservation + kMiB, 4 * kMiB, PROT_NONE) == 0);
  tell("released", munmap(reservation, 64ul << 30) == 0);

  char* map = anonymous(16 * kMiB, rw);
  memset(map, 2, 16 * kMiB);
  tell("hole", munmap(map + 4 * kMiB, 4 * kMiB) == 0);
  tell("head", munmap(map, 2 * kMiB) == 0);
  tell("over what is there",
       mmap(map + 8 * kMiB, 2 * kMiB, rw, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == map + 8 * kMiB &&
           map[8 * kMiB] == 0 && map[10 * kMiB] == 2);
  tell("not over it",
       mmap(map + 8 * kMiB, 4096, rw, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED &&
           errno == EEXIST);
  tell("all of it, holes too", munmap(map, 16 * kMiB) == 0);

  map = anonymous(4 * kMiB, rw);
  memset(map, 3, 4 * kMiB);
  tell("shrunk", mremap(map, 4 * kMiB, kMiB, 0) == map);
  char* moved = mremap(map, kMiB, 64 * kMiB, MREMAP_MAYMOVE);
  tell("grown", moved != MAP_FAILED && moved[kMiB - 1] == 3 && moved[kMiB] == 0);
  char* target = anonymous(64 * kMiB, PROT_NONE);
  tell("moved to a place",
       mremap(moved, 64 * kMiB, 64 * kMiB, MREMAP_MAYMOVE | MREMAP_FIXED, target) == target);
  char* hint = (char*)0x500000000000ul;
  char* twin = mremap(target, 64 * kMiB, 64 * kMiB, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, hint);
  tell("moved where it was hinted", twin == hint);
  tell("moved, and the old stays", twin != MAP_FAILED && twin[5] == 3 && target[5] == 0);
  tell("cannot grow in place", mremap(twin, 64 * kMiB, 1ul << 46, 0) == MAP_FAILED && errno == ENOMEM);
  munmap(twin, 64 * kMiB);
  munmap(target, 64 * kMiB);

  int memory = memfd_create("victim", MFD_CLOEXEC);
  tell("sized", ftruncate(memory, 8 * kMiB) == 0);
  char* shared = mmap(NULL, 8 * kMiB, rw, MAP_SHARED, memory, 0);
  char* again = mmap(NULL, 8 * kMiB, PROT_READ, MAP_SHARED, memory, 0);
  close(memory);
  shared[123] = 4;
  tell("shared twice", again[123] == 4);
  tell("duplicated", (map = mremap(shared, 0, 8 * kMiB, MREMAP_MAYMOVE)) != MAP_FAILED && map[123] == 4);
  munmap(map, 8 * kMiB);
  munmap(again, 8 * kMiB);
  munmap(shared, 8 * kMiB);

  int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  char* file = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, self, 0);
  tell("file", file != MAP_FAILED && memcmp(file, "\177ELF", 4) == 0);
  tell("file, writable and private", mprotect(file, 4096, rw) == 0 && (file[0] = 'x') == 'x');
  tell("length 0", mmap(NULL, 0, rw, MAP_PRIVATE, self, 0) == MAP_FAILED && errno == EINVAL);
  close(self);
  tell("bad descriptor", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 999, 0) == MAP_FAILED && errno == EBADF);
  tell("unaligned munmap", munmap(file + 1, 4096) == -1 && errno == EINVAL);
  tell("odd length", munmap(file, 1) == 0);

  map = anonymous(8 * kMiB, rw);
  memset(map, 5, 8 * kMiB);
  tell("given back", madvise(map, 4 * kMiB, MADV_DONTNEED) == 0 && map[0] == 0 && map[5 * kMiB] == 5);
  tell("wrong advice", madvise(map, kMiB, 12345) == -1 && errno == EINVAL);
  munmap(map, 8 * kMiB);
  return 0;
}
