// Purpose: processes and threads: their ids, how they wait, and how a thread is started.
// Runs: on any thread, also on threads that glibc does not know.
#include "preload/os/threads.h"

#include <linux/futex.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>

#include "preload/os/gate/raw_call.h"
#include "preload/os/gate/start_page.h"

namespace memtrace::record::os {

namespace {

ON_START_PAGE constinit int process = 0; // the pid at the last call that was allowed

// Returns the id of the calling thread that glibc keeps in the thread's descriptor, at this place since 2.4. A
// child of vfork has the descriptor of its parent, and so the parent's id. In another libc it is some other
// word. It answers if the kernel does not: Docker's filter refuses kcmp, and gVisor does not have it.
int kept_thread_id() {
  int id;
  asm("movl %%fs:0x2d0, %0" : "=r"(id));
  return id;
}

} // namespace

std::uint32_t user() {
  return static_cast<std::uint32_t>(call(SYS_geteuid));
}

std::uint64_t resource_limit(int resource) {
  rlimit limit{};
  if (call(SYS_prlimit64, 0, resource, 0, word(&limit)) < 0) return ~std::uint64_t{0};
  return limit.rlim_cur; // RLIM_INFINITY is all ones
}
bool host_name(char* out, std::size_t capacity) {
  utsname system{};
  if (call(SYS_uname, word(&system)) != 0) return false;
  std::size_t bytes = 0;
  for (; bytes + 1 < capacity && system.nodename[bytes] != '\0'; ++bytes) out[bytes] = system.nodename[bytes];
  out[bytes] = '\0';
  return true;
}
// In a sandbox, returns the last known pid. A child that is forked there does not record.
int process_id() {
  const long id = call(SYS_getpid);
  if (id > 0) __atomic_store_n(&process, static_cast<int>(id), __ATOMIC_RELAXED);
  return id > 0 ? static_cast<int>(id) : __atomic_load_n(&process, __ATOMIC_RELAXED);
}
int parent_id() {
  return static_cast<int>(call(SYS_getppid));
}
bool shares_memory_of_parent() {
  const int own = process_id();
  const int kept = kept_thread_id();
  if (kept == own) return false;
  const long answer = call(SYS_kcmp, own, parent_id(), KCMP_VM);
  return answer == 0 || (answer < 0 && kept == parent_id());
}
int thread_id() {
  return static_cast<int>(call(SYS_gettid));
}
std::uint64_t voluntary_switches() {
  rusage usage{};
  call(SYS_getrusage, RUSAGE_THREAD, word(&usage));
  return static_cast<std::uint64_t>(usage.ru_nvcsw);
}
// With RUSAGE_SELF, the kernel would add up the times of all threads.
std::uint64_t highest_resident() {
  rusage usage{};
  call(SYS_getrusage, RUSAGE_THREAD, word(&usage));
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}
std::uint64_t major_faults() {
  rusage usage{};
  call(SYS_getrusage, RUSAGE_SELF, word(&usage));
  return static_cast<std::uint64_t>(usage.ru_majflt);
}
bool thread_exists(int tid) {
  return call(SYS_tgkill, process_id(), tid, 0) != -ESRCH;
}
void yield() {
  call(SYS_sched_yield);
}
void sleep_ns(std::uint64_t ns) {
  const timespec duration{static_cast<time_t>(ns / 1'000'000'000u), static_cast<long>(ns % 1'000'000'000u)};
  call(SYS_nanosleep, word(&duration), 0);
}
void futex_wait(const std::uint32_t* word_, std::uint32_t expected, std::uint64_t timeout_ns) {
  const timespec duration{static_cast<time_t>(timeout_ns / 1'000'000'000u),
                          static_cast<long>(timeout_ns % 1'000'000'000u)};
  call(SYS_futex, word(word_), FUTEX_WAIT, static_cast<long>(expected), word(&duration));
}
bool in_signal_handler() {
  std::uint64_t blocked = 0;
  if (call(SYS_rt_sigprocmask, SIG_BLOCK, 0, word(&blocked), sizeof blocked) < 0) return true;
  return (blocked & ~(std::uint64_t{1} << (SIGPIPE - 1))) != 0;
}
void futex_wake(const std::uint32_t* word_) {
  call(SYS_futex, word(word_), FUTEX_WAKE, 1);
}

void close_all_of_this_thread() {
  if (call(SYS_close_range, 0, ~0u, 0) == 0) return;
  for (int fd = 0; fd < 65536; ++fd) call(SYS_close, fd); // before Linux 5.9
}

namespace {
constinit std::uint64_t own_stack = 0; // of the thread that start_thread() started last
constinit std::size_t own_stack_bytes = 0;
constinit std::uint32_t own_table = 0; // counts those threads
} // namespace

std::uint32_t own_descriptor_table() {
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  const std::uint64_t start = __atomic_load_n(&own_stack, __ATOMIC_RELAXED);
  return here - start < __atomic_load_n(&own_stack_bytes, __ATOMIC_RELAXED) ? own_table : 0;
}

long start_thread(int (*run)(void*), void* argument, void* stack, std::size_t stack_bytes, void* tls,
                  std::uint32_t* tid) {
  const Passage passage;
  if (!passage) return -EPERM;
  // The new thread inherits this thread's signal mask, so all signals are blocked around the clone.
  std::uint64_t all = ~std::uint64_t{0}, before = 0;
  call(SYS_rt_sigprocmask, SIG_BLOCK, word(&all), word(&before), sizeof all);
  // The thread has its own descriptor table, so that its files do not take numbers that the program would get.
  const long flags = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                     CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  __atomic_store_n(&own_stack, reinterpret_cast<std::uint64_t>(stack), __ATOMIC_RELAXED);
  __atomic_store_n(&own_stack_bytes, stack_bytes, __ATOMIC_RELAXED);
  ++own_table;
  auto* top = reinterpret_cast<long*>(static_cast<char*>(stack) + stack_bytes) - 2;
  top[0] = word(argument);
  top[1] = reinterpret_cast<long>(run);
  long result;
  register std::uint32_t* r10 asm("r10") = tid;
  register void* r8 asm("r8") = tls;
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t" // the outermost frame
      "pop %%rdi\n\t"
      "pop %%rax\n\t"
      "call *%%rax\n\t"
      "mov %%eax, %%edi\n\t"
      "mov %[exit], %%eax\n\t" // this thread only
      "syscall\n\t"
      "1:"
      : "=a"(result)
      : "a"(SYS_clone), "D"(flags), "S"(top), "d"(tid), "r"(r10), "r"(r8), [exit] "i"(SYS_exit)
      : "rcx", "r11", "memory");
  call(SYS_rt_sigprocmask, SIG_SETMASK, word(&before), 0, sizeof before);
  return result;
}

} // namespace memtrace::record::os
