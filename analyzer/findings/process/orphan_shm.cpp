// Purpose: finds shared memory that a process left behind.
#include "analyzer/findings/process/orphan_shm.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/job/shm_creator.h"
#include "analyzer/passes/shm_flows.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using evidence::ShmOrphan;

constexpr std::uint64_t kWorthRemoving = 8 << 20; // bytes, all together
constexpr std::size_t kNamed = 3;                 // files that the remedy names
constexpr std::size_t kListed = 64;               // files that the evidence names

bool named(const ShmOrphan& orphan) {
  return evidence::pid_in(orphan.name).has_value();
}

// Returns the path as one word of a shell: the name of a file may contain any character.
std::string quoted(const std::string& path) {
  const auto plain = [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '/' || c == '_' ||
           c == '-' || c == '.';
  };
  if (std::all_of(path.begin(), path.end(), plain)) return path;
  std::string out = "'";
  for (const char c : path) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Returns the command that removes the files. One pattern covers the files that PyTorch named after the
// process.
std::string removal(const ProcessAnalysis& analysis, const std::vector<ShmOrphan>& orphans) {
  std::string text = "rm";
  std::size_t others = 0;
  if (std::any_of(orphans.begin(), orphans.end(), named))
    text += fmt::format(" /dev/shm/torch_{}_*", analysis.facts().pid);
  for (const ShmOrphan& orphan : orphans) {
    if (named(orphan)) continue;
    if (++others <= kNamed) text += " " + quoted("/dev/shm/" + orphan.name);
  }
  if (others > kNamed)
    text += fmt::format(" and {} more, which STEM.evidence beside the trace names", others - kNamed);
  return text;
}

// Returns the advice for a program that should not leave such files behind.
std::string avoidance(const std::vector<ShmOrphan>& orphans) {
  const std::string& name = orphans.front().name;
  if (named(orphans.front()))
    return "torch.multiprocessing.set_sharing_strategy(\"file_descriptor\"): such memory has no name and goes "
           "with its last process";
  if (name.starts_with("psm_"))
    return "close() and unlink() in a finally; do not kill multiprocessing's resource_tracker with the program";
  return "shm_unlink (os.unlink) as soon as all that need it have it open: it lives on as long as they do";
}

std::string evidence_of(const ProcessAnalysis& analysis, const ShmOrphan& orphan) {
  std::string text =
      fmt::format("/dev/shm/{}: {} bytes, made at {:.1f} s", orphan.name, orphan.bytes,
                  std::max(0.0, orphan.made - unix_of(analysis.facts(), analysis.facts().start_stamp)));
  if (named(orphan)) text += ", its name has the process's pid";
  if (orphan.mapped) text += ", mapped by the process in that size when it was made";
  return text;
}

void list(const ProcessAnalysis& analysis, const std::vector<ShmOrphan>& orphans, Finding& finding) {
  std::uint64_t rest = 0;
  for (std::size_t i = 0; i < orphans.size(); ++i) {
    if (i < kListed) {
      finding.evidence.push_back(evidence_of(analysis, orphans[i]));
    } else {
      rest += orphans[i].bytes;
    }
  }
  if (orphans.size() > kListed)
    finding.evidence.push_back(fmt::format("{} more files: {} bytes", orphans.size() - kListed, rest));
}

// Returns the sentence about possible holders, as far as the scan could see them.
std::string witness_of(const evidence::ShmLeftovers& left) {
  if (left.unseen == 0) return "no process has them open or mapped";
  if (left.unseen == evidence::kUnknown)
    return "no process that can be seen from here has them open or mapped; there may be others";
  return fmt::format("no process has them open or mapped, but {} that could not be looked into", left.unseen);
}

// True if the owner is certain: PyTorch puts the pid into the name, and the pid is unique in its pid namespace.
bool certain(const ProcessAnalysis& analysis, const evidence::ShmLeftovers& left) {
  const auto pids = analysis.facts().note("pids");
  return left.unseen == 0 && pids && *pids == left.pids &&
         std::all_of(left.orphans.begin(), left.orphans.end(), named);
}

// Sets the site at which the process mapped its largest file, if it mapped one.
void place(ProcessAnalysis& analysis, Finding& finding) {
  const auto& orphans = analysis.end.left.orphans;
  const auto mapped =
      std::find_if(orphans.begin(), orphans.end(), [](const ShmOrphan& one) { return one.mapped; });
  if (mapped == orphans.end()) return;
  for (const replay::SharedFlow& flow : replay::shared_flows(*analysis.trace).births) {
    if (unix_of(analysis.facts(), flow.stamp) != *mapped->mapped) continue;
    finding.site = flow.stack;
    finding.phase = analysis.account.paths.text(analysis.account.paths.last(flow.born.path));
    finding.step = flow.born.step;
    return;
  }
}

} // namespace

Findings find_orphans(ProcessAnalysis& analysis) {
  const evidence::ShmLeftovers& left = analysis.end.left;
  std::uint64_t bytes = 0;
  for (const ShmOrphan& orphan : left.orphans) bytes += orphan.bytes;
  if (bytes < kWorthRemoving) return {};
  Finding finding;
  finding.id = "orphan-shm";
  finding.bytes = static_cast<std::int64_t>(bytes);
  finding.certain = certain(analysis, left);
  finding.title =
      fmt::format("{} left in /dev/shm, in {} that nobody holds any more", sized(bytes),
                  left.orphans.size() == 1 ? "a file" : fmt::format("{} files", left.orphans.size()));
  place(analysis, finding);
  list(analysis, left.orphans, finding);
  finding.evidence.push_back(
      fmt::format("{}: looked at {:.1f} s after its last record", witness_of(left),
                  *left.looked - unix_of(analysis.facts(), analysis.facts().last_stamp)));
  finding.sentences = {
      "They are memory of this machine, and count for the cgroup they were made in, until somebody removes "
      "them."};
  if (finding.site != format::StackId{})
    finding.sentences.push_back(
        fmt::format("The largest was mapped by {}.", analysis.symbolizer->site(finding.site).title()));
  finding.remedy = removal(analysis, left.orphans) + "; and in the program: " + avoidance(left.orphans);
  finding.no_remedy = "ending processes: none of them has it";
  return {std::move(finding)};
}

} // namespace memtrace::report
