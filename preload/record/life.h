// Room: record. In the constructor, at the edges of a process's life, and once when recording begins.
// Job: inert, cold, hot; fork, exec and the end.
#pragma once

#include "preload/format/event.h"

namespace memtrace::record {

// Constructor only: settings, place, unwinder. Afterwards the process is cold, or inert. `may_unwind`: native
// stacks may be taken inside hooks.
void start_life(bool may_unwind = true);

// Constructor only: the blocks of malloc do not pass our hooks, for `object` has a malloc that comes first.
void malloc_is_elsewhere(const char* object);

// From cold to hot: files, definitions, the cold log, the background thread, the one line on stderr. Where no
// file can be written: one line that says so, and inert. Inside a hook, guard held: raw system calls only.
void begin_recording();
// Waits while another thread begins to record, at most until 50 ms after it began. For a new thread: what it
// counts before there is a ring file is lost by a kill. Guard held.
void wait_for_beginning();
// False in a forked child that is too young: it may exec or exit at once (see the contract, "a forked child").
bool old_enough_to_record();

// Around fork, as atfork handlers; before and after any call that counts threads.
void before_fork();
void after_fork_in_parent();
void after_fork_in_child();
// A page that fork wipes: a child of a raw clone, which runs no handlers, finds it empty and starts its own
// life. Where there can be none it says `here` in every process.
struct Alive {
  std::uint32_t here;
  std::uint32_t reserved;
  std::size_t
      small_below; // blocks of fewer bytes need no more than counting: exact_min, or 0 in an inert process
};
[[gnu::visibility("hidden")]] extern constinit Alive* alive;
void notice_raw_fork();
inline void notice_fork() {
  if (alive->here == 0) [[unlikely]]
    notice_raw_fork();
}

// False in a child of vfork, whose memory is its parent's.
bool is_own_process();

// A thread ends past glibc: it may be the last one but the background thread.
void before_thread_exit();

// Before exec: everything is on disk, says that the image ends, and the ring file is gone. `path` is for the
// record. False when nothing was done: not recording, or a vfork child.
bool before_exec(const char* path);
void after_failed_exec();

// The end, with the code the program gave. Drains within a bound, removes the ring file. Later calls do
// nothing.
void end_life(int code);
// The program aborts, and its handlers may run. Everything stays as it is, in the ring file.
void note_abort();
void remember_exit_code(int code);
int remembered_exit_code();

} // namespace memtrace::record
