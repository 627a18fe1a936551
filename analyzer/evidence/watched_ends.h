// Purpose: the ends of processes as `memtrace run` saw them from outside: lines of files beside their traces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace memtrace::evidence {

// The kernel's wait status of one process.
struct End {
  std::string host;
  std::uint64_t pid = 0; // in the watcher's pid namespace, which the traces use too
  std::string trace;     // STEM of its last trace; "": it left no trace
  bool signal = false;   // true: a signal ended it
  int code = 0;          // exit status, or the signal's number
  bool dumped = false;   // left a core dump
  double unix = 0;       // when the watcher saw the end: seconds, unix
  std::string seen;      // "wait": a child of the watcher; "pidfd": a child of another process
};

inline constexpr char kEndsSuffix[] = ".ends";

// Returns one line of JSON with its newline.
std::string line_of(const End& end);

// Returns the ends in the lines of one file. Skips lines that cannot be parsed: a watcher that was killed
// leaves a partial line.
std::vector<End> parse_ends(const std::string& lines);

// Returns the ends in all files of a directory, in the order of file names and lines.
std::vector<End> read_ends(const std::string& directory);

// Returns the end of the process that left the trace STEM, or nullptr if no watcher saw it.
const End* end_of(const std::vector<End>& ends, const std::string& stem);

} // namespace memtrace::evidence
