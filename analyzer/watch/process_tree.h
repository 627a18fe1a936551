// Purpose: the processes that a process started, and how much memory each holds.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace memtrace::watch {

// Returns `root` and its descendants that run, in no order. A daemon, whose parent is init, is none of them.
std::vector<int> process_tree(int root);

// Returns the bytes of RSS and of the address space. Returns nullopt if the process is gone.
struct ProcessSize {
  std::uint64_t resident = 0;
  std::uint64_t address_space = 0;
};
std::optional<ProcessSize> process_size(int pid);

// Returns the name of the program, printable. Returns "" if the process is gone.
std::string program_name(int pid);

struct Grown {
  int pid = 0;
  std::uint64_t bytes = 0;
  double seconds = 0; // within which it grew
};

// Remembers the RSS of processes for some seconds.
class ResidentHistory {
 public:
  static constexpr std::uint64_t kRememberedNs = 10'000'000'000;

  void add(std::uint64_t now, const std::vector<int>& pids);
  // Returns the process whose RSS grew most since the oldest reading. Returns nullopt if none grew.
  std::optional<Grown> most_grown(std::uint64_t now) const;
  // Returns the process with the highest RSS, or 0.
  int largest() const;

 private:
  struct ResidentReading {
    std::uint64_t time;
    std::uint64_t resident;
  };
  std::map<int, std::deque<ResidentReading>> readings_;
  std::uint64_t began_ = 0;
};

} // namespace memtrace::watch
