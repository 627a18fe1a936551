// Purpose: hooks of the calls that change ids, groups, capabilities and prctl settings. glibc's internal calls
// of these functions do not pass here.
// Runs: around calls that change the privileges of the process.
#include "preload/hooks/libc/privileges.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "preload/api/export.h"
#include "preload/hooks/symbols/find_symbol.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks {

using record::Change;

Change change_of_prctl(int option, unsigned long value) {
  switch (option) {
    case PR_SET_SECCOMP:
      return value == SECCOMP_MODE_STRICT ? Change::strict : Change::filter;
    case PR_SET_TSC: // the vDSO's clocks read the counter, and would end the program
      return value == PR_TSC_SIGSEGV ? Change::strict : Change::none;
    case PR_SET_SECUREBITS:
    case PR_SET_NO_NEW_PRIVS:
    case PR_SET_KEEPCAPS:
    case PR_CAPBSET_DROP:
    case PR_CAP_AMBIENT:
    case PR_SET_DUMPABLE:
      return Change::privileges;
    default:
      return Change::none;
  }
}

Change change_of(long number, long first, long second) {
  switch (number) {
    case SYS_unshare:
    case SYS_setns:
      return Change::threads;
    case SYS_setuid:
    case SYS_setgid:
    case SYS_setreuid:
    case SYS_setregid:
    case SYS_setresuid:
    case SYS_setresgid:
    case SYS_setfsuid:
    case SYS_setfsgid:
    case SYS_setgroups:
    case SYS_capset:
      return Change::privileges;
    case SYS_prctl:
      return change_of_prctl(static_cast<int>(first), static_cast<unsigned long>(second));
    case SYS_seccomp: // its other operations only query the kernel
      return first == SECCOMP_SET_MODE_STRICT   ? Change::strict
             : first == SECCOMP_SET_MODE_FILTER ? Change::filter
                                                : Change::none;
    default:
      return Change::none;
  }
}

namespace {

using OneId = int (*)(unsigned);
using TwoIds = int (*)(unsigned, unsigned);
using ThreeIds = int (*)(unsigned, unsigned, unsigned);
using SetGroups = int (*)(std::size_t, const gid_t*);
using InitGroups = int (*)(const char*, gid_t);
using Capset = int (*)(void*, const void*);
using Prctl = int (*)(int, ...);

struct Calls {
  OneId setuid, setgid, seteuid, setegid, setfsuid, setfsgid;
  TwoIds setreuid, setregid;
  ThreeIds setresuid, setresgid;
  SetGroups setgroups;
  InitGroups initgroups;
  Capset capset;
  Prctl prctl;
};
constinit Calls calls{};

template <class Call>
auto with_less(Call call) {
  find_privilege_calls();
  return with_change(Change::privileges, call);
}

} // namespace

void find_privilege_calls() {
  if (calls.prctl != nullptr) return;
  find_next(&calls.setuid, "setuid");
  find_next(&calls.setgid, "setgid");
  find_next(&calls.seteuid, "seteuid");
  find_next(&calls.setegid, "setegid");
  find_next(&calls.setfsuid, "setfsuid");
  find_next(&calls.setfsgid, "setfsgid");
  find_next(&calls.setreuid, "setreuid");
  find_next(&calls.setregid, "setregid");
  find_next(&calls.setresuid, "setresuid");
  find_next(&calls.setresgid, "setresgid");
  find_next(&calls.setgroups, "setgroups");
  find_next(&calls.initgroups, "initgroups");
  find_next(&calls.capset, "capset");
  find_next(&calls.prctl, "prctl");
}

} // namespace memtrace::hooks

using namespace memtrace::hooks;

EXPORT int setuid(uid_t id) noexcept {
  return with_less([=] { return calls.setuid(id); });
}
EXPORT int setgid(gid_t id) noexcept {
  return with_less([=] { return calls.setgid(id); });
}
EXPORT int seteuid(uid_t id) noexcept {
  return with_less([=] { return calls.seteuid(id); });
}
EXPORT int setegid(gid_t id) noexcept {
  return with_less([=] { return calls.setegid(id); });
}
EXPORT int setfsuid(uid_t id) noexcept {
  return with_less([=] { return calls.setfsuid(id); });
}
EXPORT int setfsgid(gid_t id) noexcept {
  return with_less([=] { return calls.setfsgid(id); });
}
EXPORT int setreuid(uid_t real, uid_t effective) noexcept {
  return with_less([=] { return calls.setreuid(real, effective); });
}
EXPORT int setregid(gid_t real, gid_t effective) noexcept {
  return with_less([=] { return calls.setregid(real, effective); });
}
EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
  return with_less([=] { return calls.setresuid(real, effective, saved); });
}
EXPORT int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept {
  return with_less([=] { return calls.setresgid(real, effective, saved); });
}
EXPORT int setgroups(std::size_t count, const gid_t* groups) noexcept {
  return with_less([=] { return calls.setgroups(count, groups); });
}
EXPORT int initgroups(const char* user, gid_t group) {
  return with_less([=] { return calls.initgroups(user, group); });
}
EXPORT int capset(void* header, const void* data) noexcept {
  return with_less([=] { return calls.capset(header, data); });
}

// prctl is declared with variable arguments, which arrive in the same registers. Most calls set a thread's
// name; they jump to the real function.
EXPORT int memtrace_at_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
                             unsigned long d) noexcept __asm__("prctl");
int memtrace_at_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) noexcept {
  const Change change = change_of_prctl(option, a);
  if (change == Change::none && calls.prctl != nullptr) [[likely]]
    return calls.prctl(option, a, b, c, d);
  find_privilege_calls();
  return with_change(change, [=] { return calls.prctl(option, a, b, c, d); });
}
