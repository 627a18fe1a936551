// Purpose: a handler jumps out of abort(); the program goes on and is killed later.
// A victim.
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sigjmp_buf before;

static void jump(int number) {
  siglongjmp(before, number);
}

int main(void) {
  void* held = malloc(64u << 20);
  if (held == NULL) return 1;
  memset(held, 1, 64u << 20);
  signal(SIGABRT, jump);
  if (sigsetjmp(before, 1) == 0) abort();
  for (int i = 0; i < 10; ++i) {
    void* const more = malloc(1u << 20);
    if (more == NULL) return 1;
    memset(more, 1, 1u << 20);
    free(more);
  }
  kill(getpid(), SIGKILL);
  return 0;
}
