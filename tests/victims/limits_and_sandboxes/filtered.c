// Purpose: runs a command under a seccomp filter that answers some calls with EPERM, like the filter of a
// container runtime.
//
// usage: filtered some|append COMMAND...
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define IF(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1)

// Refuses calls that the recorder makes and that a program can do without.
static struct sock_filter some[] = {LOAD(nr), IF(SYS_fallocate),       REFUSE, IF(SYS_process_vm_readv),
                                    REFUSE,   IF(SYS_io_setup),        REFUSE, IF(SYS_mincore),
                                    REFUSE,   IF(SYS_sync_file_range), REFUSE, IF(SYS_close_range),
                                    REFUSE,   IF(SYS_clone),           REFUSE, ALLOW};

// Refuses to open files for appending.
static struct sock_filter append[] = {LOAD(nr),      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
                                      LOAD(args[2]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_APPEND, 0, 1),
                                      REFUSE,        ALLOW};

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  struct sock_fprog program = {sizeof some / sizeof *some, some};
  if (strcmp(argv[1], "append") == 0) program = (struct sock_fprog){sizeof append / sizeof *append, append};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("filtered");
    return 2;
  }
  execvp(argv[2], argv + 2);
  perror(argv[2]);
  return 2;
}
