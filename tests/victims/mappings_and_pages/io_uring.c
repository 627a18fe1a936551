// Purpose: uses io_uring by raw system calls: mapped rings, registered buffers, reads into malloc blocks.
// Prints "refused" and ends with 77 if the kernel refuses io_uring. A victim: its output must be the same with
// and without the tracer.
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kEntries = 8, kBytes = 1 << 20 };

static struct io_uring_params parameters;
static int ring;
static char *submissions, *completions;
static struct io_uring_sqe* entries;

static void* map(size_t bytes, off_t what) {
  return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, what);
}

static unsigned* word(char* base, unsigned offset) {
  return (unsigned*)(base + offset);
}

/* Submits entry 0, waits for it, and returns its result. */
static int result(void) {
  unsigned* tail = word(submissions, parameters.sq_off.tail);
  const unsigned mask = *word(submissions, parameters.sq_off.ring_mask);
  word(submissions, parameters.sq_off.array)[*tail & mask] = 0;
  atomic_store_explicit((_Atomic unsigned*)tail, *tail + 1, memory_order_release);
  if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1) return -1;
  unsigned* head = word(completions, parameters.cq_off.head);
  const unsigned at = *head & *word(completions, parameters.cq_off.ring_mask);
  const int out = ((struct io_uring_cqe*)(completions + parameters.cq_off.cqes))[at].res;
  atomic_store_explicit((_Atomic unsigned*)head, *head + 1, memory_order_release);
  return out;
}

static int transfer(int operation, int file, void* block) {
  memset(&entries[0], 0, sizeof entries[0]);
  entries[0].opcode = (unsigned char)operation;
  entries[0].fd = file;
  entries[0].addr = (unsigned long)block;
  entries[0].len = kBytes;
  return result();
}

int main(void) {
  ring = (int)syscall(SYS_io_uring_setup, kEntries, &parameters);
  if (ring < 0) {
    puts("refused");
    return 77;
  }
  submissions = map(parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
  completions =
      map(parameters.cq_off.cqes + parameters.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
  entries = map(parameters.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
  if (submissions == MAP_FAILED || completions == MAP_FAILED || entries == MAP_FAILED) return 1;
  char* block = malloc(kBytes);
  memset(block, 7, kBytes);
  FILE* file = tmpfile();
  printf("written: %d\n", transfer(IORING_OP_WRITE, fileno(file), block));
  struct iovec buffer = {block, kBytes};
  printf("registered: %ld\n", syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &buffer, 1));
  memset(block, 0, kBytes);
  printf("read into what is registered: %d\n", transfer(IORING_OP_READ_FIXED, fileno(file), block));
  printf("the same bytes: %d\n", block[0] == 7 && block[kBytes - 1] == 7);
  free(block); /* still registered: the kernel keeps its pages */
  printf("nothing: %d\n", transfer(IORING_OP_NOP, -1, NULL));
  close(ring);
  fclose(file);
  return 0;
}
