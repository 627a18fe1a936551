// Purpose: the members of a packed file without private names.
#pragma once

#include <string>
#include <vector>

#include "analyzer/pack/job/job_members.h"
#include "analyzer/pack/redact/private_names.h"
#include "analyzer/pack/redact/text_uses.h"

namespace memtrace::report {

class RedactedMembers {
 public:
  // Reads all traces once, because names that one trace defines are private in all files.
  RedactedMembers(std::vector<Process>& processes, const std::vector<PackMember>& members,
                  trace::Progress& progress);

  // True if the file is left out: only the recorder reads it, and it has private names.
  static bool leaves_out(const PackMember& member) { return member.kind == MemberKind::node; }

  std::string name(const PackMember& member);
  // Returns the content of a file in the directory of the job. `trace` is the trace of the member's process.
  std::string content(const PackMember& member, const trace::Trace& trace);
  redact::PrivateNames& names() { return names_; }

 private:
  std::string segments(const PackMember& member, const trace::Trace& trace);

  redact::PrivateNames names_;
  std::vector<redact::TextUses> uses_; // of each process
};

} // namespace memtrace::report
