// Purpose: packs the files of a job into one file.
#include "analyzer/pack/job/pack_job.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "analyzer/archive/pack_writer.h"
#include "analyzer/evidence/evidence_store.h"
#include "analyzer/job/job_survey.h"
#include "analyzer/pack/job/job_members.h"
#include "analyzer/pack/job/open_trace.h"
#include "analyzer/pack/job/redacted_members.h"
#include "analyzer/pack/redact/redacted_files.h"
#include "analyzer/symbols/symbolizer.h"

#ifndef MEMTRACE_VERSION
#error "the build says which version this is"
#endif

namespace memtrace::report {
namespace {

class JobPacking {
 public:
  JobPacking(const std::vector<std::string>& traces, bool redact, trace::Progress& progress)
      : progress_(progress), processes_(survey(traces, {}, progress)), members_(members_of(processes_)) {
    if (!redact) return;
    std::erase_if(members_, RedactedMembers::leaves_out);
    redacted_.emplace(processes_, members_, progress);
  }

  PackedJob write(const std::string& output) {
    archive::PackList list{archive::kPackSchema, MEMTRACE_VERSION, redacted_.has_value(), {}};
    for (const PackMember& member : members_) list.members.push_back(name(member));
    archive::PackWriter to(output, list, content_bytes(members_));
    for (std::size_t i = 0; i < members_.size(); ++i) {
      progress_.at("packing", i, members_.size());
      const bool columns = members_[i].kind == MemberKind::segments;
      columns ? to.add_columns(list.members[i], content(members_[i]))
              : to.add(list.members[i], content(members_[i]));
    }
    PackedJob packed;
    packed.traces = processes_.size();
    packed.bytes = to.finish();
    progress_.clear();
    for (const Process& process : processes_) {
      packed.running += process.end.how == "running";
      packed.all_exited = packed.all_exited && process.end.how == "exit";
    }
    for (const PackMember& member : members_) list_file(member, packed);
    return packed;
  }

 private:
  void list_file(const PackMember& member, PackedJob& packed) const {
    const bool of_job =
        member.kind == MemberKind::job || member.kind == MemberKind::node || member.kind == MemberKind::ends;
    if (of_job) {
      packed.of_job.push_back({member.path, member.name});
    } else if (member.kind == MemberKind::evidence) {
      packed.of_processes.push_back({evidence::store_of(processes_[member.process].path), ""});
    } else if (!member.path.empty()) {
      packed.of_processes.push_back({member.path, member.name});
    }
  }

  std::string name(const PackMember& member) {
    const std::string file = redacted_ ? redacted_->name(member) : member.name;
    return member.kind == MemberKind::segments ? file + archive::kColumnsSuffix : file;
  }

  std::string content(const PackMember& member) {
    const Process& process = processes_[member.process];
    if (member.kind == MemberKind::evidence) return evidence_of(process);
    if (member.kind == MemberKind::symbols) return symbols_of(process);
    return redacted_ ? redacted_->content(member, *OpenTrace(process, progress_)) : content_of(member);
  }

  std::string evidence_of(const Process& process) {
    evidence::Evidence closed = closed_evidence(process);
    return evidence::text_of(redacted_ ? redact::redacted_evidence(std::move(closed), redacted_->names())
                                       : closed);
  }

  std::string symbols_of(const Process& process) {
    const OpenTrace trace(process, progress_);
    symbols::Symbolizer symbolizer(trace->definitions(), trace->facts(),
                                   symbols::load_names(symbols::names_file_of(process.path)), code_);
    const symbols::StoredNames names = symbolizer.names_to_store();
    return symbols::text_of(redacted_ ? redact::redacted_symbols(names, *trace, redacted_->names()) : names);
  }

  trace::Progress& progress_;
  std::vector<Process> processes_;
  std::vector<PackMember> members_;
  std::optional<RedactedMembers> redacted_;
  const std::shared_ptr<symbols::CodeFiles> code_ = std::make_shared<symbols::CodeFiles>();
};

} // namespace

PackedJob pack_job(const std::vector<std::string>& traces, const std::string& output, bool redact,
                   trace::Progress& progress) {
  return JobPacking(traces, redact, progress).write(output);
}

} // namespace memtrace::report
