// Purpose: what the recorder does around a call that changes what the process may do.
// Runs: on the program's threads, around its calls.
#pragma once

#include "preload/format/records.h"

namespace memtrace::record {

class Recording;

enum class Change : std::uint8_t {
  none,
  threads,    // it counts threads, or moves them to other namespaces: unshare, setns
  privileges, // ids, groups, capabilities, what the next ones may be
  filter,     // of system calls, by seccomp
  strict,     // seccomp's strict mode
};

// Stands around such a call. The background thread ends before it, so that no thread of ours keeps what the
// program gives up, and another one, which a thread of the program starts, has what that has. From a filter on
// there is none, and no system call of the recorder either.
//
// In a child of vfork, whose memory and background thread are the parent's, nothing of this happens.
class Changing {
 public:
  explicit Changing(Change change);
  // `made`: the call did what it was asked for.
  void over(bool made);

 private:
  enum class In : std::uint8_t { nothing, own_process, vfork_child };
  Change change_;
  In in_ = In::nothing;

  void prepare_filter();
  void filter_is_over(bool made);
};

// A child of vfork that installed a filter is about to become another program, or to exit: what is marked on
// the thread that it shares with its parent is taken back. True: it was marked; mark it again if the call
// returns.
bool unmark_vfork_child();
void mark_vfork_child();

// They may be written again, or not any more. Guard held.
void look_at_files(const Recording& here);

} // namespace memtrace::record
