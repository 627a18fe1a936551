// Purpose: limits the memory and the work that a command may spend on the files that it reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

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
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 30;
  static constexpr std::uint64_t kBytesPerByte = 4; // bytes of memory per byte of the files
  // For work that is a product: blocks times the instants at which they are examined, records times passes.
  // About a minute.
  static constexpr std::uint64_t kLooks = 500'000'000;
  static constexpr std::uint64_t kLooksPerByte = 256;

  static Budget& of_command();

  // Counts a file that is read. Each file counts once, with the bytes it has on the disk, because a hole costs
  // its author nothing.
  void reads(const std::string& path, std::uint64_t device, std::uint64_t inode, std::uint64_t bytes);
  // Sets the trace that refusal() names.
  void about(const std::string& path);
  std::string path() const { return path_; }
  void lift() { lifted_ = true; }
  bool is_lifted() const { return lifted_; }

  void looks(std::uint64_t number) {
    looks_ += number;
    if (looks_ > most_looks_) refuse(true);
  }
  void took(std::size_t bytes) {
    if (second_ != nullptr) {
      second_->held += static_cast<std::int64_t>(bytes);
      if (second_->held > second_->most) refuse_second();
      return;
    }
    held_ += bytes;
    if (held_ + beside_ > most_held_) refuse(false);
  }
  void gave(std::size_t bytes) {
    if (second_ != nullptr) {
      second_->held -= static_cast<std::int64_t>(bytes);
      return;
    }
    held_ -= bytes;
  }

  // What a second thread holds. It has a count of its own, and the command's thread adds the state that belongs
  // to the batch that it got. So a refusal does not depend on which thread was faster.
  struct Second {
    std::int64_t held = 0; // below 0 if it gave back what the other thread took
    std::int64_t most = 0;
  };
  // Returns the count for a thread that begins now.
  Second second() const { return {0, most_held_ > held_ ? static_cast<std::int64_t>(most_held_ - held_) : 0}; }
  // Makes the calling thread count in `second` from now on.
  static void count_in(Second& second) { second_ = &second; }
  // Sets what the second thread held when it made the present batch.
  void beside(std::int64_t bytes) { beside_ = static_cast<std::uint64_t>(bytes); }
  // Adds the count of a second thread that has ended.
  void joined(const Second& second) {
    beside_ = 0;
    held_ += static_cast<std::uint64_t>(second.held);
  }

  // Returns one line: the trace, the reason, the remedy.
  std::string refusal() const;

  std::uint64_t held() const { return held_; }
  std::uint64_t looked() const { return looks_; }

 private:
  void refuse(bool work);
  void refuse_second() const;

  static inline constinit thread_local Second* second_ = nullptr; // null in the command's thread
  std::uint64_t held_ = 0;                                        // by the command's thread
  std::uint64_t beside_ = 0;                                      // by a second thread, modulo 2^64
  std::uint64_t most_held_ = kBytes;
  std::uint64_t looks_ = 0;
  std::uint64_t most_looks_ = kLooks;
  bool lifted_ = false;
  bool work_ = false;    // true: the work exceeded the budget; false: the memory
  char path_[4096] = {}; // not a string: it must exist before the first `new` and after the last `delete`
};

} // namespace memtrace::files
