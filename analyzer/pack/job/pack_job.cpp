// Purpose: packs the files of a job into one file.
#include "analyzer/pack/job/pack_job.h"

#include <memory>

#include "analyzer/job/job_survey.h"
#include "analyzer/pack/job/job_members.h"
#include "analyzer/pack/pack_writer.h"
#include "analyzer/symbols/symbolizer.h"

#ifndef MEMTRACE_VERSION
#error "the build says which version this is"
#endif

namespace memtrace::report {
namespace {

std::string symbols_of(Process& process, trace::Progress& progress) {
  std::unique_ptr<trace::Trace> trace = std::move(process.trace);
  if (!trace) trace = std::make_unique<trace::Trace>(process.path, &progress);
  symbols::Symbolizer symbolizer(trace->definitions(), trace->facts(),
                                 symbols::load_names(symbols::names_file_of(process.path)));
  return symbols::text_of(symbolizer.names_to_store());
}

} // namespace

void pack_job(const std::vector<std::string>& traces, const std::string& output, bool redact,
              trace::Progress& progress) {
  std::vector<Process> processes = survey(traces, {}, progress);
  const std::vector<Member> members = members_of(processes);
  pack::PackList list{pack::kPackSchema, MEMTRACE_VERSION, redact, {}};
  for (const Member& member : members) list.members.push_back(member.name);
  pack::PackWriter to(output, list, bytes_of(members));
  for (std::size_t i = 0; i < members.size(); ++i) {
    progress.at("packing", i, members.size());
    const Member& member = members[i];
    Process& process = processes[member.process];
    if (member.kind == MemberKind::symbols) {
      to.add(member.name, symbols_of(process, progress));
    } else if (member.kind == MemberKind::evidence) {
      to.add(member.name, closed_evidence(process));
    } else {
      to.add(member.name, content_of(member));
    }
  }
  to.finish();
  progress.clear();
}

} // namespace memtrace::report
