// Purpose: makes its first allocation in a signal handler, on an alternate stack with 4 KiB of room.
// Below that stack is a page without access. The recorder starts there, so its start must need little stack.
// A victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kPage = 4096, kRoom = 4096, kMost = 64 * 1024 };
static char area[kPage + kMost] __attribute__((aligned(kPage)));
static volatile int allocated;

static void allocate(int unused) {
  (void)unused;
  void* const block = malloc(100);
  allocated = block != NULL;
  free(block);
}

// Not by the library's function, which would be an event.
static void forbid(void* page) {
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(SYS_mprotect), "D"(page), "S"(kPage), "d"(PROT_NONE)
               : "rcx", "r11", "memory");
}

int main(void) {
  const unsigned long said = getauxval(AT_MINSIGSTKSZ);
  const unsigned long frame = said != 0 ? said : 2048;
  if (frame + kRoom > kMost) return 77;
  forbid(area);
  const stack_t stack = {.ss_sp = area + kPage, .ss_size = frame + kRoom};
  const struct sigaction action = {.sa_handler = allocate, .sa_flags = SA_ONSTACK};
  if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0) return 1;
  raise(SIGUSR1);
  const ssize_t written = write(1, allocated ? "allocated\n" : "refused\n", allocated ? 10 : 8);
  return written > 0 ? 0 : 1;
}
