// Purpose: runs the command of --on-near-limit beside the job, at most one at a time.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace memtrace::cli {

class NearLimitCommand {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  // `text`: for sh -c. `preload`: the value of LD_PRELOAD without memtrace; "": none. The command is not
  // traced.
  NearLimitCommand(std::string text, std::string preload)
      : text_(std::move(text)), preload_(std::move(preload)) {}

  // Starts the command, whose stdin is empty and whose stdout is this process's stderr. Does nothing if it
  // still runs. If memory gets short, the kernel ends it before the job.
  void start(const Variables& variables);
  // Prints a line if the command has ended with a failure.
  void reap();
  bool is_running() const { return pid_ > 0; }
  // Waits for its end. Prints a line if it still runs after so many ms, and leaves it alone.
  void wait_at_most(int ms);

 private:
  void ended(int status);

  std::string text_;
  std::string preload_;
  pid_t pid_ = 0;
};

} // namespace memtrace::cli
