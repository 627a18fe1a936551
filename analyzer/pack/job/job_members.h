// Purpose: lists the files of a job that a packed file holds, and reads them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/job/job_process.h"

namespace memtrace::report {

enum class MemberKind : std::uint8_t {
  job,   // the file of an attempt
  node,  // the claims of the processes of a host
  ends,  // what `memtrace run` saw
  rings, // of one process, as are the following
  segments,
  rollup,
  evidence, // made for the packed file
  symbols,  // made for the packed file
};

struct PackMember {
  std::string name;
  std::string path; // "": the content is made for the packed file
  MemberKind kind;
  std::size_t process = 0; // index of the process, if it is of one
};

// Returns the members in an order in which the files of a running process can be read: records that move from
// the rings to the trace meanwhile are then in both, and the reader takes them once.
std::vector<PackMember> members_of(const std::vector<Process>& processes);

// Returns the content of a file. Throws std::runtime_error with one line if it cannot be read.
std::string content_of(const PackMember& member);

// Returns the evidence of a process as it is now, closed: no later command asks the machine for more.
evidence::Evidence closed_evidence(const Process& process);

// Returns about how many bytes the members have: the sizes of the files that can be read, and an estimate of
// the names that are made for the packed file.
std::uint64_t content_bytes(const std::vector<PackMember>& members);

} // namespace memtrace::report
