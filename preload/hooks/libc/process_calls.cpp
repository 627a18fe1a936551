// Purpose: hooks of fork, exec, exit, abort, of calls that count threads, and of syscall().
// Runs: at the start and the end of a process.
#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/api/export.h"
#include "preload/hooks/libc/privileges.h"
#include "preload/hooks/libc/process_calls.h"
#include "preload/hooks/symbols/find_symbol.h"
#include "preload/os/gate/start_page.h"
#include "preload/os/libc/libc_table.h"
#include "preload/process/end.h"
#include "preload/process/exec.h"
#include "preload/process/fork.h"
#include "preload/process/privilege_change.h"
#include "preload/state/recorder_state.h"

#include "preload/os/gate/forbidden.h"

extern "C" int __register_atfork(void (*)(), void (*)(), void (*)(), void*);
extern "C" int __cxa_at_quick_exit(void (*)(void*), void*);
extern "C" void* __dso_handle;
using Syscall = long (*)(long, ...);
extern "C" __attribute__((visibility("hidden"))) Syscall memtrace_real_syscall;

namespace memtrace::hooks {
namespace {

// Writes everything to disk before the call, because a successful exec ends the recorder. If the call fails, it
// returns and recording continues.
template <class Exec>
int replace_image(const char* path, Exec exec) {
  const int errno_before = errno;
  const bool marked = record::unmark_vfork_child();
  const bool ended = !marked && record::before_exec(path != nullptr ? path : "");
  errno = errno_before;
  const int result = exec();
  const int errno_after = errno;
  if (marked) record::mark_vfork_child();
  if (ended) record::after_failed_exec();
  errno = errno_after;
  return result;
}

using Execve = int (*)(const char*, char* const*, char* const*);
using Fexecve = int (*)(int, char* const*, char* const*);
using Execveat = int (*)(int, const char*, char* const*, char* const*, int);
using Exit = void (*)(int);
using Abort = void (*)();
using Unshare = int (*)(int);
using Setns = int (*)(int, int);

ON_START_PAGE constinit Execve real_execve = nullptr;
ON_START_PAGE constinit Execve real_execvpe = nullptr;
ON_START_PAGE constinit Fexecve real_fexecve = nullptr;
ON_START_PAGE constinit Execveat real_execveat = nullptr;
ON_START_PAGE constinit Exit real_exit_now = nullptr;
ON_START_PAGE constinit Exit real_quick_exit = nullptr;
ON_START_PAGE constinit Abort real_abort = nullptr;
ON_START_PAGE constinit Unshare real_unshare = nullptr;
ON_START_PAGE constinit Setns real_setns = nullptr;

// Each at its own first call: most processes call one of them, or none.
template <class F>
F found(F& real, const char* name) {
  if (real == nullptr) find_next(&real, name);
  return real;
}

// Registered before the loader's own handler, so it runs after all destructors, with the exit code.
void at_exit_with(int status, void*) {
  record::end_life(status);
}
void at_quick_exit_with(void*) {
  record::end_life(record::remembered_exit_code());
}

} // namespace

void process_start() {
  __register_atfork(&record::before_fork, &record::after_fork_in_parent, &record::after_fork_in_child,
                    &__dso_handle);
  record::libc.on_exit(&at_exit_with, nullptr);
  __cxa_at_quick_exit(&at_quick_exit_with, &__dso_handle);
}

} // namespace memtrace::hooks

using namespace memtrace::hooks;
namespace record = memtrace::record;

EXPORT int execve(const char* path, char* const argv[], char* const envp[]) noexcept {
  return replace_image(path, [&] { return found(real_execve, "execve")(path, argv, envp); });
}
EXPORT int execv(const char* path, char* const argv[]) noexcept {
  return execve(path, argv, environ);
}
EXPORT int execvpe(const char* file, char* const argv[], char* const envp[]) noexcept {
  return replace_image(file, [&] { return found(real_execvpe, "execvpe")(file, argv, envp); });
}
EXPORT int execvp(const char* file, char* const argv[]) noexcept {
  return execvpe(file, argv, environ);
}
EXPORT int fexecve(int fd, char* const argv[], char* const envp[]) noexcept {
  return replace_image("fexecve", [&] { return found(real_fexecve, "fexecve")(fd, argv, envp); });
}
EXPORT int execveat(int fd, const char* path, char* const argv[], char* const envp[], int flags) noexcept {
  return replace_image(path, [&] { return found(real_execveat, "execveat")(fd, path, argv, envp, flags); });
}

// Copies the variable arguments of execl, execlp and execle into a list on the stack. The caller may be a vfork
// child, whose heap is the parent's. For execle, `after` reads the argument behind the terminating null.
#define WITH_ARGUMENTS(first, list, after)                                                \
  std::size_t count = 1;                                                                  \
  va_list rest;                                                                           \
  va_start(rest, first);                                                                  \
  while (va_arg(rest, char*) != nullptr) ++count;                                         \
  va_end(rest);                                                                           \
  auto** const list = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*))); \
  list[0] = const_cast<char*>(first);                                                     \
  va_start(rest, first);                                                                  \
  for (std::size_t i = 1; i <= count; ++i) list[i] = va_arg(rest, char*);                 \
  after;                                                                                  \
  va_end(rest)

EXPORT int execl(const char* path, const char* first, ...) noexcept {
  WITH_ARGUMENTS(first, list, );
  return execve(path, list, environ);
}
EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  WITH_ARGUMENTS(first, list, );
  return execvpe(file, list, environ);
}
EXPORT int execle(const char* path, const char* first, ...) noexcept {
  char* const* environment = nullptr;
  WITH_ARGUMENTS(first, list, environment = va_arg(rest, char* const*));
  return execve(path, list, environment);
}

EXPORT __attribute__((noreturn)) void _exit(int code) {
  if (!record::unmark_vfork_child()) record::end_life(code);
  found(real_exit_now, "_exit")(code);
  __builtin_unreachable();
}
EXPORT __attribute__((noreturn)) void _Exit(int code) {
  _exit(code);
}

EXPORT __attribute__((noreturn)) void quick_exit(int code) noexcept {
  record::remember_exit_code(code);
  found(real_quick_exit, "quick_exit")(code);
  __builtin_unreachable();
}

// Has another C++ name, because forbidden.h poisons the name `abort`.
EXPORT __attribute__((noreturn)) void memtrace_at_abort() noexcept __asm__("abort");
void memtrace_at_abort() noexcept {
  record::note_abort();
  found(real_abort, "abort")();
  __builtin_unreachable();
}

EXPORT int unshare(int flags) noexcept {
  return with_change(record::Change::threads, [=] { return found(real_unshare, "unshare")(flags); });
}
EXPORT int setns(int fd, int type) noexcept {
  return with_change(record::Change::threads, [=] { return found(real_setns, "setns")(fd, type); });
}

// Hook of syscall(), for raw forms of the calls above. It is assembly because syscall(SYS_vfork) returns twice,
// so this library must leave nothing on the stack. Hooked numbers go to memtrace_syscall; all others jump to
// the real function with unchanged registers.
extern "C" {
ON_START_PAGE constinit Syscall memtrace_real_syscall = nullptr;
}

// Bit N of the map is set if system call N is hooked.
namespace {
constexpr long kMapped = 320;
constexpr long kOurs[] = {SYS_fork,      SYS_exit,     SYS_exit_group, SYS_unshare,   SYS_setns,
                          SYS_setuid,    SYS_setgid,   SYS_setreuid,   SYS_setregid,  SYS_setresuid,
                          SYS_setresgid, SYS_setfsuid, SYS_setfsgid,   SYS_setgroups, SYS_capset,
                          SYS_prctl,     SYS_seccomp};
struct SyscallMap {
  std::uint64_t words[kMapped / 64];
};
constexpr SyscallMap map_of_ours() {
  SyscallMap map{};
  for (const long number : kOurs) map.words[number / 64] |= std::uint64_t{1} << number % 64;
  return map;
}
} // namespace
extern "C" {
__attribute__((visibility("hidden"), used)) extern constinit const SyscallMap memtrace_our_syscalls =
    map_of_ours();
}

//
// A raw fork copies the state of the recorder, so the recorder starts before it.
static_assert(static_cast<int>(memtrace::record::State::waiting) == 1);
asm(R"(
  .text
  .globl syscall
  .type syscall, @function
syscall:
  cmpb $1, memtrace_state(%rip)
  je 2f
3:
  cmpq $320, %rdi     # kMapped
  jae 1f
  btq %rdi, memtrace_our_syscalls(%rip)
  jc memtrace_syscall
1:
  movq memtrace_real_syscall(%rip), %rax
  testq %rax, %rax
  je memtrace_syscall # before the constructor
  jmp *%rax
2:
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  subq $8, %rsp
  call memtrace_begin
  addq $8, %rsp
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  jmp 3b
  .size syscall, .-syscall
)");

extern "C" __attribute__((visibility("hidden"), used)) void memtrace_begin() {
  record::active();
}

extern "C" __attribute__((visibility("hidden"), used)) long memtrace_syscall(long number, long a, long b,
                                                                             long c, long d, long e, long f) {
  const auto call = [&] { return found(memtrace_real_syscall, "syscall")(number, a, b, c, d, e, f); };
  if (const record::Change change = change_of(number, a, b); change != record::Change::none)
    return with_change(
        change, call,
        number == SYS_seccomp && (static_cast<unsigned long>(b) & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0);
  if (number == SYS_exit && !record::unmark_vfork_child()) record::before_thread_exit();
  if (number == SYS_exit_group && !record::unmark_vfork_child()) record::end_life(static_cast<int>(a));
  if (number != SYS_fork) return call();
  record::before_fork();
  const long result = call();
  const int errno_after = errno;
  if (result == 0) {
    record::after_fork_in_child();
  } else {
    record::after_fork_in_parent();
  }
  errno = errno_after;
  return result;
}
