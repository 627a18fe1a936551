// Purpose: merges the evidence of several sources.
#include "analyzer/evidence/evidence.h"

#include <chrono>
#include <set>

namespace memtrace::evidence {
namespace {

template <class T>
struct LessByValue {
  bool operator()(const T* a, const T* b) const { return *a < *b; }
};

// Appends the new elements in the order of `from`. A linear search for each took hours for a log of a million
// kills.
template <class T>
void add_new(std::vector<T>& to, const std::vector<T>& from) {
  to.reserve(to.size() + from.size()); // `known` points into `to`
  std::set<const T*, LessByValue<T>> known;
  for (const T& one : to) known.insert(&one);
  for (const T& one : from) {
    if (known.contains(&one)) continue;
    to.push_back(one);
    known.insert(&to.back());
  }
}

} // namespace

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void add(Evidence& to, const Evidence& from, const std::string& file) {
  if (!file.empty()) add_new(to.files, {file});
  add_new(to.kills, from.kills);
  add_new(to.faults, from.faults);
  add_new(to.groups, from.groups);
  add_new(to.statements, from.statements);
  add_new(to.manager_kills, from.manager_kills);
}

} // namespace memtrace::evidence
