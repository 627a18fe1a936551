// Purpose: keeps the signals that the recorder's writes raise from the program.
// Runs: on any thread.
#pragma once

#include <signal.h>
#include <time.h>

#include <cstdint>

#include "preload/os/gate/raw_call.h"

namespace memtrace::record::os {

// Blocks the signals that the kernel sends to a thread for a write, and removes them afterwards: SIGXFSZ past
// RLIMIT_FSIZE, SIGPIPE, SIGTTOU. Their default actions end or stop the process, and are meant for the
// program's own writes. If the program itself blocks such a signal and it is pending already, it stays pending.
class NoWriteSignal {
 public:
  NoWriteSignal() {
    call(SYS_rt_sigprocmask, SIG_BLOCK, word(&only_), word(&before_), sizeof only_);
    if ((only_ & before_) != 0) call(SYS_rt_sigpending, word(&theirs_), sizeof theirs_);
  }
  ~NoWriteSignal() {
    const timespec now{};
    const std::uint64_t ours = only_ & ~theirs_;
    if (ours != 0) call(SYS_rt_sigtimedwait, word(&ours), 0, word(&now), sizeof ours);
    call(SYS_rt_sigprocmask, SIG_SETMASK, word(&before_), 0, sizeof before_);
  }
  NoWriteSignal(const NoWriteSignal&) = delete;
  NoWriteSignal& operator=(const NoWriteSignal&) = delete;

 private:
  std::uint64_t only_ =
      std::uint64_t{1} << (SIGXFSZ - 1) | std::uint64_t{1} << (SIGPIPE - 1) | std::uint64_t{1} << (SIGTTOU - 1);
  std::uint64_t before_ = 0;
  std::uint64_t theirs_ = 0;
};

} // namespace memtrace::record::os
