// Purpose: gives up privileges in each possible way, and prints whether any thread of its process kept them. A
// victim: its output must be the same with and without the tracer.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kOther = 65534 };

int capset(cap_user_header_t, const cap_user_data_t);

static void churn(int count) {
  for (int i = 0; i < count; ++i) free(memset(malloc(50000), 1, 50000));
}

// Reads a thread's credentials as the kernel lists them. Returns false if it has ended or the file is missing.
static int credentials(const char* task, char* out, size_t room) {
  char path[300], line[8192];
  snprintf(path, sizeof path, "/proc/self/task/%s/status", task);
  FILE* const file = fopen(path, "re");
  if (file == NULL) return 0;
  *out = '\0';
  while (fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, "Uid:", 4) && strncmp(line, "Gid:", 4) && strncmp(line, "Cap", 3) &&
        strncmp(line, "Groups:", 7) && strncmp(line, "NoNewPrivs:", 11))
      continue;
    if (strlen(out) + strlen(line) < room) strcat(out, line);
  }
  fclose(file);
  return 1;
}

// Returns the number of threads with other credentials than the calling thread.
static int others(void) {
  char mine[4096], theirs[4096], me[32];
  snprintf(me, sizeof me, "%d", (int)syscall(SYS_gettid));
  if (!credentials(me, mine, sizeof mine)) return -1;
  DIR* const tasks = opendir("/proc/self/task");
  int count = 0;
  for (const struct dirent* entry; tasks != NULL && (entry = readdir(tasks)) != NULL;)
    if (entry->d_name[0] != '.' && credentials(entry->d_name, theirs, sizeof theirs))
      count += strcmp(mine, theirs) != 0;
  closedir(tasks);
  return count;
}

// Checks at once, then repeatedly while the program allocates.
static void check(const char* what, int result) {
  int worst = others();
  for (int i = 0; i < 20; ++i) {
    churn(200);
    usleep(5000);
    const int now = others();
    if (now > worst) worst = now;
  }
  printf("%s: %d, other threads with other credentials: %d\n", what, result, worst);
}

static volatile int stop;
static void* sleeper(void* unused) {
  while (!stop) {
    usleep(2000);
    churn(2);
  }
  return unused;
}

static void no_capabilities(int raw) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
  check("capset", raw ? (int)syscall(SYS_capset, &header, none) : capset(&header, none));
}

static void by_glibc(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, &sleeper, NULL);
  check("setgroups", setgroups(0, NULL));
  check("initgroups", initgroups("nobody", kOther));
  check("setegid", setegid(kOther));
  check("setregid", setregid(-1, kOther));
  check("setresgid", setresgid(kOther, kOther, kOther));
  check("setfsuid", setfsuid(0));
  check("setfsgid", setfsgid(kOther) >= 0);
  check("seteuid", seteuid(kOther));
  check("seteuid back", seteuid(0));
  check("setreuid", setreuid(-1, 0));
  check("setresuid", setresuid(kOther, kOther, kOther));
  check("setuid", setuid(kOther));
  check("setgid", setgid(kOther));
  stop = 1;
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  check("back to root", setresuid(0, 0, 0) == -1 && errno == EPERM);
}

static void by_syscall(void) {
  check("setgroups", (int)syscall(SYS_setgroups, 0L, NULL));
  check("setresgid", (int)syscall(SYS_setresgid, (long)kOther, (long)kOther, (long)kOther));
  check("prctl", (int)syscall(SYS_prctl, (long)PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L));
  check("setresuid", (int)syscall(SYS_setresuid, (long)kOther, (long)kOther, (long)kOther));
}

static long raw_setresuid(long id) {
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(SYS_setresuid), "D"(id), "S"(id), "d"(id)
                   : "rcx", "r11", "memory");
  return result;
}

// Changes credentials by raw system calls, which no hook sees. The recorder's thread must notice it by itself.
static void unseen(void) {
  churn(500);
  const long result = raw_setresuid(kOther);
  for (int i = 0; i < 1000 && others() != 0; ++i) usleep(10000);
  check("unseen setresuid", (int)result);
}

static void by_prctl(void) {
  prctl(PR_SET_NAME, "new name");
  char name[16];
  prctl(PR_GET_NAME, name);
  printf("%s\n", name);
  check("keep", prctl(PR_SET_KEEPCAPS, 1));
  check("dumpable", prctl(PR_SET_DUMPABLE, 0));
  check("dumpable again", prctl(PR_SET_DUMPABLE, 1));
  check("bound", prctl(PR_CAPBSET_DROP, CAP_SYS_TIME));
  check("securebits", prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP));
  check("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0));
  check("no new privileges", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  printf("no such option: %d\n", prctl(12345, 0, 0, 0, 0) == -1 && errno == EINVAL);
}

static void in_vfork_child(void) {
  for (volatile int i = 0; i < 20; ++i) {
    const pid_t pid = vfork();
    if (pid == 0) _exit(setresuid(kOther, kOther, kOther) == 0 && getuid() == kOther ? 0 : 1);
    int status = 0;
    waitpid(pid, &status, 0);
    if (status != 0) printf("child: %d\n", status);
    churn(300);
  }
  check("vfork", (int)getuid());
}

static volatile sig_atomic_t handled;
static void on_signal(int number) {
  (void)number;
  seteuid(handled % 2 == 0 ? kOther : 0);
  ++handled;
}
static void in_a_handler(void) {
  struct sigaction action = {.sa_handler = &on_signal, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < 20; ++i) {
    churn(20);
    raise(SIGUSR1);
  }
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  const struct itimerspec each = {{0, 3000000}, {0, 3000000}};
  timer_settime(timer, 0, &each, NULL);
  while (handled < 120) churn(20);
  timer_delete(timer);
  signal(SIGUSR1, SIG_IGN);
  check("handler", seteuid(0));
}

// Takes the identity of another user for each of its jobs.
static void often(void) {
  for (int i = 0; i < 3000; ++i) {
    if (seteuid(kOther) != 0 || seteuid(0) != 0) printf("failed\n");
    churn(2);
  }
  check("often", 0);
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IONBF, 0);
  const char* const mode = argc > 1 ? argv[1] : "";
  churn(2000);
  if (strcmp(mode, "glibc") == 0) by_glibc();
  if (strcmp(mode, "syscall") == 0) by_syscall();
  if (strcmp(mode, "unseen") == 0) unseen();
  if (strcmp(mode, "prctl") == 0) by_prctl();
  if (strcmp(mode, "capset") == 0) no_capabilities(0);
  if (strcmp(mode, "capset_raw") == 0) no_capabilities(1);
  if (strcmp(mode, "vfork") == 0) in_vfork_child();
  if (strcmp(mode, "handler") == 0) in_a_handler();
  if (strcmp(mode, "often") == 0) often();
  churn(500);
  return 0;
}
