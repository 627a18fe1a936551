// Purpose: how processes ended, as `memtrace run` saw it from outside: lines of files beside their traces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace memtrace::evidence {

// The kernel's wait status of one process.
struct End {
  std::string host;
  std::uint64_t pid = 0; // as the watcher sees it: in its own pid namespace, as the traces do
  std::string trace;     // STEM of its last trace; "": it left none
  bool signal = false;   // ended by one
  int code = 0;          // exit status, or the signal's number
  bool dumped = false;   // left a core
  double unix = 0;       // seconds, when it was seen
  std::string seen;      // "wait": the watcher's own child; "pidfd": of another's
};

inline constexpr char kEndsSuffix[] = ".ends";

// One line of JSON, its newline included.
std::string line_of(const End& end);

// Of all files in a directory, in the order of their names and lines. What cannot be read is passed over: a
// watcher that was killed leaves a line in part.
std::vector<End> read_ends(const std::string& directory);

// The end of the process that left the trace STEM; null: nobody saw it.
const End* end_of(const std::vector<End>& ends, const std::string& stem);

} // namespace memtrace::evidence
