// Purpose: which system calls those are, and what is done around each.
// Runs: around calls that change what the process may do.
#pragma once

#include <errno.h>

#include "preload/process/privilege_change.h"

namespace memtrace::hooks {

// What a system call with these arguments changes.
record::Change change_of(long number, long first, long second);
record::Change change_of_prctl(int option, unsigned long value);

// Calls it, and stands around it. The result and errno are the call's. `positive`: that, too, is success (of
// seccomp a descriptor that was asked for; else it is the id of a thread that was in the way).
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
