// Purpose: runs a program under a system call filter like Docker's default: calls that it blocks fail with
// EPERM, clone3 with ENOSYS. It starts victims and is not a victim itself.
//
// usage: docker_filter PROGRAM [ARGUMENT...]
// The calls are those that Docker's documentation names as blocked ("Seccomp security profiles for Docker").
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int kBlocked[] = {SYS_acct,
                               SYS_add_key,
                               SYS_bpf,
                               SYS_clock_adjtime,
                               SYS_clock_settime,
                               SYS_create_module,
                               SYS_delete_module,
                               SYS_finit_module,
                               SYS_get_kernel_syms,
                               SYS_get_mempolicy,
                               SYS_init_module,
                               SYS_ioperm,
                               SYS_iopl,
                               SYS_kcmp,
                               SYS_kexec_file_load,
                               SYS_kexec_load,
                               SYS_keyctl,
                               SYS_lookup_dcookie,
                               SYS_mbind,
                               SYS_mount,
                               SYS_move_pages,
                               SYS_nfsservctl,
                               SYS_open_by_handle_at,
                               SYS_perf_event_open,
                               SYS_personality,
                               SYS_pivot_root,
                               SYS_process_vm_readv,
                               SYS_process_vm_writev,
                               SYS_ptrace,
                               SYS_query_module,
                               SYS_quotactl,
                               SYS_reboot,
                               SYS_request_key,
                               SYS_set_mempolicy,
                               SYS_setns,
                               SYS_settimeofday,
                               SYS_swapon,
                               SYS_swapoff,
                               SYS_sysfs,
                               SYS__sysctl,
                               SYS_umount2,
                               SYS_unshare,
                               SYS_uselib,
                               SYS_userfaultfd,
                               SYS_ustat,
                               SYS_io_uring_setup,
                               SYS_io_uring_enter,
                               SYS_io_uring_register};
enum { kCount = sizeof kBlocked / sizeof kBlocked[0], kNewNamespaces = 0x7E020000 };

int main(int count, char** arguments) {
  static struct sock_filter filter[2 * kCount + 16];
  unsigned short at = 0;
  const unsigned refused = SECCOMP_RET_ERRNO | EPERM, absent = SECCOMP_RET_ERRNO | ENOSYS;
  if (count < 2) return 2;
#define ADD(...) filter[at++] = (struct sock_filter)__VA_ARGS__
  ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
  ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
  ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
  for (int i = 0; i < kCount; ++i) {
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)kBlocked[i], 0, 1));
    ADD(BPF_STMT(BPF_RET | BPF_K, refused));
  }
  ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1));
  ADD(BPF_STMT(BPF_RET | BPF_K, absent));
  ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3));
  ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])));
  ADD(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kNewNamespaces, 0, 1));
  ADD(BPF_STMT(BPF_RET | BPF_K, refused));
  ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
#undef ADD
  const struct sock_fprog program = {at, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("docker_filter");
    return 126;
  }
  execvp(arguments[1], arguments + 1);
  return 127;
}
