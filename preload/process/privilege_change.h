// Purpose: the actions of the recorder around a call that changes the rights of the process.
// Runs: on the program's threads, around its calls.
#pragma once

#include "preload/format/records.h"

namespace memtrace::record {

class Recording;

enum class Change : std::uint8_t {
  none,
  threads,    // it counts threads, or moves them to other namespaces: unshare, setns
  privileges, // ids, groups, capabilities, and the limits of later ones
  filter,     // a filter of system calls, by seccomp
  strict,     // seccomp's strict mode
};

// Runs around such a call. The background thread ends before the call, so no thread of the recorder retains
// rights that the program gives up. Afterwards a thread of the program starts a new one, which has the rights
// of that thread. After a filter is installed, there is no background thread, and the recorder makes no system
// calls.
//
// In a child of vfork, the memory and the background thread are the parent's, so Changing does nothing of this.
class Changing {
 public:
  explicit Changing(Change change);
  // Runs after the call. `made`: the call succeeded.
  void over(bool made);

 private:
  enum class In : std::uint8_t { nothing, own_process, vfork_child, copying };
  Change change_;
  In in_ = In::nothing;

  void prepare_filter();
  void filter_is_over(bool made);
};

// Removes the mark from the thread that a child of vfork shares with its parent. Runs before a child that
// installed a filter calls exec or exits. Returns true if the thread was marked. If the call returns, the
// caller marks it again.
bool unmark_vfork_child();
void mark_vfork_child();

// Checks whether the files can be written, or can be written again. The caller holds the guard.
void look_at_files(const Recording& here);

} // namespace memtrace::record
