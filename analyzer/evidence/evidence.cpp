// Room: evidence. What others than the trace say about the end of a process.
// Job: evidence of several sources, together.
#include "evidence/evidence.h"

#include <algorithm>

namespace memtrace::evidence {
namespace {

template <class T>
void add_new(std::vector<T>& to, const std::vector<T>& from) {
  for (const T& one : from) {
    if (std::find(to.begin(), to.end(), one) == to.end()) to.push_back(one);
  }
}

} // namespace

void add(Evidence& to, const Evidence& from, const std::string& file) {
  if (!file.empty()) add_new(to.files, {file});
  add_new(to.kills, from.kills);
  add_new(to.faults, from.faults);
  add_new(to.groups, from.groups);
  add_new(to.statements, from.statements);
}

} // namespace memtrace::evidence
