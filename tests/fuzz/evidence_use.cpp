// Purpose: what a post-mortem asks of evidence: which of it is about which process, and that it can be kept.
#include "evidence_use.h"

#include "analyzer/evidence/evidence_store.h"
#include "analyzer/evidence/kill_matching.h"
#include "analyzer/evidence/manager_matching.h"
#include "bytes.h"
#include "place.h"

namespace memtrace::tests {
namespace {

using evidence::Evidence;
using evidence::Subject;

constexpr std::size_t kMostSubjects = 6;

// Processes that end when the evidence says that something ended, and one that fits nothing.
std::vector<Subject> subjects_of(const Evidence& found) {
  std::vector<Subject> out;
  const auto add = [&](std::uint64_t pid, const evidence::When& when, bool first) {
    if (out.size() >= kMostSubjects) return;
    Subject subject;
    subject.pid = pid;
    if (first) subject.first_pids = true;
    subject.last = when.boot.value_or(0);
    subject.last_unix = when.unix.value_or(0);
    subject.began = subject.last - 100;
    subject.began_unix = subject.last_unix - 100;
    subject.group = "/a";
    subject.host = "node";
    subject.evidence = &found;
    out.push_back(subject);
  };
  for (const evidence::Kill& kill : found.kills) {
    add(kill.pid, kill.when, true);
    add(kill.pid + 1, kill.when, false);
  }
  for (const evidence::ProgramFault& fault : found.faults) add(fault.pid, fault.when, true);
  for (const evidence::ManagerKill& kill : found.manager_kills) add(kill.pid, kill.when, true);
  for (const evidence::Statement& statement : found.statements) add(statement.pid, statement.ended, false);
  out.resize(std::min(out.size(), kMostSubjects - 1));
  add(1, {}, false);
  return out;
}

} // namespace

bool same(const Evidence& a, const Evidence& b) {
  return a.kills == b.kills && a.faults == b.faults && a.groups == b.groups && a.statements == b.statements &&
         a.manager_kills == b.manager_kills && a.files == b.files && a.left == b.left && a.asked == b.asked &&
         a.read_unix == b.read_unix && a.log == b.log && a.log_from == b.log_from;
}

void use_evidence(const Evidence& found) {
  const std::vector<Subject> subjects = subjects_of(found);
  expect(evidence::match(subjects).size() == subjects.size(), "a subject has no answer");
  expect(evidence::match_managers(subjects).size() == subjects.size(), "a subject has no answer of a manager");
  Evidence twice;
  evidence::add(twice, found, "file");
  const std::size_t kills = twice.kills.size(), statements = twice.statements.size();
  evidence::add(twice, found, "file");
  expect(twice.kills.size() == kills && twice.statements.size() == statements, "evidence is added twice");
  // What is not UTF-8 is replaced when it is kept; from then on it stays as it is.
  const std::string path = in_place("kept.evidence");
  expect(evidence::save(path, found), "evidence cannot be kept");
  const auto once = evidence::load(path);
  expect(once.has_value(), "kept evidence cannot be read");
  expect(evidence::save(path, *once), "evidence cannot be kept again");
  const auto again = evidence::load(path);
  expect(again && same(*once, *again), "evidence changes when it is kept again");
}

} // namespace memtrace::tests
