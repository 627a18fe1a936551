// Room: report.
// Job: what the processes of a job have together on one machine: pages that several have count once (PSS).
#include "report/family.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/job_ledger.h"
#include "report/units.h"

namespace memtrace::report {
namespace {

double unix_at(const trace::Facts& facts, format::Stamp stamp) {
  const auto ns = static_cast<double>(stamp) - static_cast<double>(facts.start_stamp);
  return static_cast<double>(facts.start_unix_ns) / 1e9 + ns / 1e9;
}

double began(const Relative& one) {
  return static_cast<double>(one.facts->start_unix_ns) / 1e9;
}
double ended(const Relative& one) {
  return unix_at(*one.facts, one.facts->last_stamp);
}

// The last sample until then; null: it was not there, or had said nothing yet.
const trace::ShareSample* share_at(const Relative& one, double unix) {
  if (ended(one) < unix) return nullptr;
  const trace::ShareSample* found = nullptr;
  for (const trace::ShareSample& sample : one.samples->shares())
    if (unix_at(*one.facts, sample.stamp) <= unix) found = &sample;
  return found;
}

// When somebody came or went last, before `unix`.
double last_change(const std::vector<Relative>& processes, double unix) {
  double last = 0;
  for (const Relative& one : processes) {
    if (began(one) <= unix) last = std::max(last, began(one));
    if (ended(one) < unix) last = std::max(last, ended(one));
  }
  return last;
}

// Of the same machine as the first, and said something.
std::vector<Relative> on_one_machine(const std::vector<Relative>& processes) {
  std::vector<Relative> out;
  for (const Relative& one : processes)
    if (one.facts->host == processes.front().facts->host && !one.samples->shares().empty()) out.push_back(one);
  return out;
}

struct Moment {
  double unix = 0;
  double oldest = 0; // of the figures
  std::uint64_t pss = 0;
  bool agreed = false;
};

Moment moment_at(const std::vector<Relative>& processes, double unix) {
  Moment out{unix, unix, 0, true};
  const double changed = last_change(processes, unix);
  for (const Relative& one : processes) {
    if (began(one) > unix || ended(one) < unix) continue;
    const trace::ShareSample* const share = share_at(one, unix);
    if (share == nullptr) {
      out.agreed = false;
      continue;
    }
    const double when = unix_at(*one.facts, share->stamp);
    out.oldest = std::min(out.oldest, when);
    out.agreed = out.agreed && when >= changed;
    out.pss += share->pss;
  }
  return out;
}

// Where at no moment all had spoken since the last change, the highest of all, which is told.
std::optional<Moment> highest(const std::vector<Relative>& processes) {
  std::optional<Moment> best;
  for (const Relative& one : processes) {
    for (const trace::ShareSample& sample : one.samples->shares()) {
      const Moment moment = moment_at(processes, unix_at(*one.facts, sample.stamp));
      const bool better = !best || (moment.agreed != best->agreed ? moment.agreed : moment.pss > best->pss);
      if (better) best = moment;
    }
  }
  return best;
}

} // namespace

std::optional<Family> family(const std::vector<Relative>& all) {
  if (all.empty()) return std::nullopt;
  const std::vector<Relative> processes = on_one_machine(all);
  if (processes.size() < 2) return std::nullopt;
  const Moment when = *highest(processes);
  Family out;
  std::uint64_t anonymous = 0, files = 0, shared = 0;
  for (const Relative& one : processes) {
    const trace::ShareSample* const share = share_at(one, when.unix);
    if (share == nullptr) continue;
    out.members.push_back({one.facts->pid, name_of(one.kind, one.facts->rank, one.facts->pid), *share});
    out.resident += share->resident;
    anonymous += share->anonymous;
    files += share->file;
    shared += share->shmem;
  }
  std::stable_sort(out.members.begin(), out.members.end(),
                   [](const Family::Member& a, const Family::Member& b) { return a.share.pss > b.share.pss; });
  Ledger& ledger = out.ledger;
  ledger.scope = "family";
  ledger.at = "peak_rss";
  ledger.of = all.front().facts->host;
  ledger.t = when.unix - began(all.front());
  ledger.total = ledger.high_water = when.pss;
  ledger.rows = {{"anonymous memory", anonymous, false, std::nullopt, std::nullopt},
                 {"file pages", files, false, std::nullopt, std::nullopt},
                 {"shared memory", shared, false, std::nullopt, std::nullopt}};
  ledger.residual = static_cast<std::int64_t>(when.pss - (anonymous + files + shared));
  if (!when.agreed)
    ledger.remarks.push_back(
        fmt::format("at no moment all processes had said what they have since the last of them came or went; "
                    "these figures are of "
                    "{}",
                    duration(when.unix - when.oldest)));
  return out;
}

} // namespace memtrace::report
