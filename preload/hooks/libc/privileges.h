// Purpose: detects system calls that change privileges, and wraps them.
// Runs: around calls that change the privileges of the process.
#pragma once

#include <errno.h>

#include "preload/process/privilege_change.h"

namespace memtrace::hooks {

// Returns the kind of change that a system call with these arguments makes.
record::Change change_of(long number, long first, long second);
record::Change change_of_prctl(int option, unsigned long value);

// Makes the call between record::Changing's two steps; errno is kept. If `positive`, a result above 0 is a
// success too. Only seccomp needs it: a requested listener is a descriptor; without it, a positive result is
// the id of a thread that could not be synchronised.
template <class Call>
auto with_change(record::Change change, Call call, bool positive = false) {
  const int errno_before = errno;
  record::Changing changing(change);
  errno = errno_before;
  const auto result = call();
  const int errno_after = errno;
  changing.over(result == 0 || (positive && result > 0));
  errno = errno_after;
  return result;
}

void find_privilege_calls();

} // namespace memtrace::hooks
