// Purpose: limits the memory and the work that a command may spend on the files that it reads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

namespace memtrace::files {

// Thrown if a command would exceed its budget. Budget::refusal() returns the message for users.
class OverBudget : public std::bad_alloc {
 public:
  const char* what() const noexcept override { return "more than a trace of its size may take"; }
};

// The budget of the command. There is one, because it counts all bytes that `new` returns
// (cli/counted_new.cpp), whatever code requests them. Reading is linear in the size of the files. A much larger
// use means a trace made to harm, or a selection of steps that does not fit into any machine.
class Budget {
 public:
  static constexpr std::int64_t kBytes = std::int64_t{1} << 30;
  static constexpr std::uint64_t kBytesPerByte = 4; // bytes of memory per byte of the files
  // For work that is a product: blocks times the instants at which they are examined, records times passes.
  // About a minute.
  static constexpr std::uint64_t kLooks = 500'000'000;
  static constexpr std::uint64_t kLooksPerByte = 256;

  static Budget& of_command();

  // What one thread holds, and what it looked at. A second thread that decodes for another one has a count of
  // its own, and that thread adds the state that belongs to the batch that it got. So a refusal does not depend
  // on which thread was faster.
  struct ThreadCount {
    std::int64_t held = 0;   // below 0 if it gave back what another thread took
    std::int64_t beside = 0; // held by a second thread
    std::int64_t most = 0;
    std::uint64_t looks = 0;
    std::uint64_t most_looks = 0;
  };

  // One of several traces that are read at the same time. Its budget is what was left before the first of them,
  // so a refusal depends neither on the number of threads nor on the other traces.
  struct TraceBudget {
    struct ReadFile {
      std::uint64_t device, inode, bytes;
    };
    ThreadCount count;
    std::string path;
    std::vector<ReadFile> files;
  };

  // Counts a file that is read. Each file counts once, with the bytes it has on the disk, because a hole costs
  // its author nothing.
  void reads(const std::string& path, std::uint64_t device, std::uint64_t inode, std::uint64_t bytes);
  // Sets the trace that refusal() names.
  void about(const std::string& path);
  std::string path() const { return part_ != nullptr ? part_->path : path_; }
  void lift() { lifted_ = true; }
  bool is_lifted() const { return lifted_; }

  void looks(std::uint64_t number) {
    ThreadCount& count = present();
    count.looks += number;
    if (count.looks > count.most_looks) refuse();
  }
  void took(std::size_t bytes) {
    ThreadCount& count = present();
    count.held += static_cast<std::int64_t>(bytes);
    if (count.held + count.beside > count.most) refuse();
  }
  void gave(std::size_t bytes) { present().held -= static_cast<std::int64_t>(bytes); }

  // Returns the count for a second thread that begins now.
  ThreadCount second() const;
  // Makes the calling thread count in `count` from now on.
  static void count_in(ThreadCount& count) { count_ = &count; }
  // Sets what the second thread held when it made the present batch.
  void beside(std::int64_t bytes) { present().beside = bytes; }
  // Adds the count of a second thread that has ended.
  void joined(const ThreadCount& second) {
    present().beside = 0;
    present().held += second.held;
  }

  // Makes the calling thread count in `part` from now on; null: as before.
  static void count_in(TraceBudget* part) {
    part_ = part;
    count_ = part != nullptr ? &part->count : nullptr;
  }
  // Adds a part that is over. Throws OverBudget if all together exceed the budget.
  void joined(const TraceBudget& part);

  // Returns one line: the trace, the reason, the remedy.
  std::string refusal() const;

  std::uint64_t held() const { return static_cast<std::uint64_t>(std::max<std::int64_t>(all_.held, 0)); }
  std::uint64_t looked() const { return all_.looks; }

 private:
  ThreadCount& present() { return count_ != nullptr ? *count_ : all_; }
  const ThreadCount& present() const { return count_ != nullptr ? *count_ : all_; }
  void refuse() const;

  static inline constinit thread_local ThreadCount* count_ = nullptr; // null in the command's thread
  static inline constinit thread_local TraceBudget* part_ = nullptr;
  ThreadCount all_{0, 0, kBytes, 0, kLooks}; // of the command's thread
  bool lifted_ = false;
  char path_[4096] = {}; // not a string: it must exist before the first `new` and after the last `delete`
};

} // namespace memtrace::files
