// Purpose: how much memory and work a command may take for the files that it reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

namespace memtrace::files {

// Thrown where a command would take more than its budget. Budget::refusal() says it for people.
class OverBudget : public std::bad_alloc {
 public:
  const char* what() const noexcept override { return "more than a trace of its size may take"; }
};

// One for the command, since it counts what `new` gives out (cli/counted_new.cpp), whoever asks for it. Reading
// is linear in the size of the files, so what is far beyond is a trace that was made to harm, or a selection of
// steps that no machine has room for.
class Budget {
 public:
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 30;
  static constexpr std::uint64_t kBytesPerByte = 4; // of the files
  // Of work that is a product: looks at blocks at so many instants, records in so many passes. About a minute.
  static constexpr std::uint64_t kLooks = 500'000'000;
  static constexpr std::uint64_t kLooksPerByte = 256;

  static Budget& of_command();

  // A file that is read. It counts once, and no more than it has on the disk: a hole costs its author nothing.
  void reads(const std::string& path, std::uint64_t device, std::uint64_t inode, std::uint64_t bytes);
  // The trace that is worked on, for the refusal.
  void about(const std::string& path);
  std::string path() const { return path_; }
  void lift() { lifted_ = true; }

  void looks(std::uint64_t number) {
    looks_ += number;
    if (looks_ > most_looks_) refuse(true);
  }
  void took(std::size_t bytes) {
    held_ += bytes;
    if (held_ > most_held_) refuse(false);
  }
  void gave(std::size_t bytes) { held_ -= bytes; }

  // One line: the trace, the reason, the way out.
  std::string refusal() const;

  std::uint64_t held() const { return held_; }
  std::uint64_t looked() const { return looks_; }

 private:
  void refuse(bool work);

  std::uint64_t held_ = 0;
  std::uint64_t most_held_ = kBytes;
  std::uint64_t looks_ = 0;
  std::uint64_t most_looks_ = kLooks;
  bool lifted_ = false;
  bool work_ = false;    // it was work that there was too much of
  char path_[4096] = {}; // no string: it has to be there before the first `new` and after the last `delete`
};

} // namespace memtrace::files
