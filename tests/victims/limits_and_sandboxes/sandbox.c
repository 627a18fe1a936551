// Purpose: enters a sandbox and goes on. A system call that is not in the list kills the process. A victim: its
// output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMost = 64, kBlocks = 400, kBytes = 200000 };

static volatile int in_sandbox;
static sem_t started, worked, never; // futexes, which the lists have

// The calls that glibc itself needs for this program in the sandbox.
static const int kPlain[] = {SYS_read,  SYS_write, SYS_mmap, SYS_munmap,     SYS_mremap, SYS_mprotect,
                             SYS_futex, SYS_brk,   SYS_exit, SYS_exit_group, SYS_madvise};
static const int kThreads[] = {
    SYS_clone,        SYS_clone3,         SYS_rt_sigprocmask, SYS_rseq, SYS_sched_getaffinity,
    SYS_rt_sigaction, SYS_set_robust_list};
static const int kFork[] = {SYS_clone, SYS_wait4, SYS_set_robust_list, SYS_rt_sigprocmask, SYS_gettid};
static const int kExec[] = {SYS_execve,     SYS_openat,          SYS_close,           SYS_fstat,
                            SYS_newfstatat, SYS_pread64,         SYS_access,          SYS_prlimit64,
                            SYS_arch_prctl, SYS_set_tid_address, SYS_set_robust_list, SYS_rseq,
                            SYS_getrandom,  SYS_vfork,           SYS_wait4,           SYS_clone,
                            SYS_clone3,     SYS_rt_sigprocmask,  SYS_faccessat};

static struct sock_filter program[kMost];
static unsigned short length;

static void add(unsigned short code, unsigned char yes, unsigned char no, unsigned value) {
  program[length++] = (struct sock_filter){code, yes, no, value};
}
static void allow(const int* list, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)list[i]);
    add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
  }
}
#define ALLOW(list) allow(list, sizeof list / sizeof *list)

static struct sock_fprog filter(const int* more, size_t count) {
  length = 0;
  add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
  ALLOW(kPlain);
  allow(more, count);
  add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
  return (struct sock_fprog){length, program};
}

static void churn(int count) {
  static __thread void* blocks[kBlocks];
  for (int i = 0; i < count; ++i) blocks[i] = memset(malloc(kBytes), 1, kBytes);
  for (int i = 0; i < count; i += 2) free(blocks[i]);
  for (int i = 1; i < count; i += 2) free(realloc(blocks[i], 3 * kBytes));
  for (int i = 0; i < 20000; ++i) free(memset(malloc(100), 1, 100));
  void* const p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(p, 1 << 20);
}

static void say(const char* text) {
  write(1, text, strlen(text));
}

static void* work(void* unused) {
  sem_post(&started);
  while (!in_sandbox) churn(10);
  churn(100);
  say("the other thread works on\n");
  sem_post(&worked);
  sem_wait(&never); // ending would need more calls
  return unused;
}
static void* later(void* unused) {
  churn(50);
  return unused;
}

// Installs the filter in the given way.
static int install(const struct sock_fprog* list, const char* way) {
  if (strcmp(way, "prctl") == 0) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, list, 0, 0);
  // libseccomp queries the kernel's flags in this way.
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) == 0 || errno != EFAULT)
    say("odd\n");
  churn(10);
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                      strcmp(way, "tsync") == 0 ? SECCOMP_FILTER_FLAG_TSYNC : 0, list);
}

// A vfork child installs the list and executes another program. The parent must go on as before.
static void vfork_child(const struct sock_fprog* list, char** again) {
  const pid_t pid = vfork();
  if (pid == 0) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, list, 0, 0) != 0) _exit(3);
    execv("/proc/self/exe", again);
    _exit(4);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  printf("child: %d\n", status);
  churn(100);
}

static void fork_child(void) {
  const pid_t pid = fork();
  if (pid == 0) {
    churn(50);
    syscall(SYS_exit_group, 7);
  }
  int status = 0;
  syscall(SYS_wait4, pid, &status, 0, NULL);
  say(status == 7 << 8 ? "child: 7\n" : "child: lost\n");
}

int main(int argc, char** argv) {
  mallopt(M_ARENA_MAX, 1); // else a thread opens a file of /proc to return memory
  setvbuf(stdout, NULL, _IONBF, 0);
  const char* const mode = argc > 1 ? argv[1] : "";
  const char* const way = argc > 2 ? argv[2] : "prctl";
  if (strcmp(mode, "work") == 0) {
    churn(50);
    say("worked\n");
    return 0;
  }
  char* again[] = {argv[0], (char*)"work", NULL};
  churn(kBlocks);
  pthread_t other;
  if (strcmp(mode, "plain") == 0) {
    pthread_create(&other, NULL, &work, NULL);
    sem_wait(&started);
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 9;
  struct sock_fprog list = filter(kPlain, 0);
  if (strcmp(mode, "threads") == 0) list = filter(kThreads, sizeof kThreads / sizeof *kThreads);
  if (strcmp(mode, "fork") == 0) list = filter(kFork, sizeof kFork / sizeof *kFork);
  if (strcmp(mode, "exec") == 0 || strcmp(mode, "vfork") == 0)
    list = filter(kExec, sizeof kExec / sizeof *kExec);
  if (strcmp(mode, "vfork") == 0) {
    vfork_child(&list, again);
    return 0;
  }
  if (strcmp(mode, "strict") == 0 ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0 : install(&list, way) != 0)
    return 8;
  in_sandbox = 1;
  if (strcmp(mode, "strict") == 0) {
    // brk is not allowed, so only free blocks serve.
    for (int i = 0; i < 100000; ++i) free(memset(malloc(5000), 1, 5000));
    say("alive\n");
    syscall(SYS_exit, 5);
  }
  churn(kBlocks);
  if (strcmp(mode, "full") == 0)
    for (int i = 0; i < 3; ++i) churn(kBlocks);
  if (strcmp(mode, "threads") == 0) {
    pthread_create(&other, NULL, &later, NULL);
    pthread_join(other, NULL);
  }
  if (strcmp(mode, "fork") == 0) fork_child();
  if (strcmp(mode, "exec") == 0) execv("/proc/self/exe", again);
  if (strcmp(mode, "plain") == 0) sem_wait(&worked);
  say("alive\n");
  return 0;
}
