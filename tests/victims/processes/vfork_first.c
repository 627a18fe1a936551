// Purpose: a child of vfork makes the first allocation, in the memory of its parent. The parent then makes a
// large one: the trace is the parent's, and has its end. With the argument "unsaid", the kernel does not say
// whether two processes share memory, as under Docker's filter.
// A victim: its output must be the same with and without the tracer.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kBytes = 64 << 20 };

// Not by the library's function, which would be an event.
static long prctl_of_kernel(long option, long first, const void* second) {
  register long third asm("r10") = 0;
  register long fourth asm("r8") = 0;
  long result = SYS_prctl;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(option), "S"(first), "d"(second), "r"(third), "r"(fourth)
               : "rcx", "r11", "memory");
  return result;
}

static int refuse_to_say(void) {
  struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), // the number of the call
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kcmp, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  return prctl_of_kernel(PR_SET_NO_NEW_PRIVS, 1, NULL) == 0 &&
         prctl_of_kernel(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int status_of_child(int runs_program) {
  int status = 0;
  const pid_t pid = vfork();
  if (pid == 0) {
    free(malloc(100000));
    if (runs_program) execlp("sh", "sh", "-c", "exit 7", (char*)NULL);
    _exit(5);
  }
  waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

int main(int argc, char** argv) {
  (void)argv;
  if (argc > 1 && !refuse_to_say()) return 77;
  const int ended = status_of_child(0), ran = status_of_child(1);
  char* const block = malloc(kBytes);
  memset(block, 1, kBytes);
  printf("children: %d and %d, last byte %d\n", ended, ran, block[kBytes - 1]);
  free(block);
  return 0;
}
