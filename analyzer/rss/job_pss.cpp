// Purpose: sums the memory of a job's processes on one machine; shared pages count once (PSS).
#include "analyzer/rss/job_pss.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "analyzer/rss/cgroup_breakdown.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

double unix_at(const trace::Facts& facts, format::Stamp stamp) {
  const auto ns = static_cast<double>(stamp) - static_cast<double>(facts.start_stamp);
  return static_cast<double>(facts.start_unix_ns) / 1e9 + ns / 1e9;
}

double began(const FamilyMember& one) {
  return static_cast<double>(one.facts->start_unix_ns) / 1e9;
}
double ended(const FamilyMember& one) {
  return std::max(began(one), unix_at(*one.facts, one.facts->last_stamp));
}

// Returns the last sample until then, or null if the process had ended or had no sample yet.
const trace::ShareSample* share_at(const FamilyMember& one, double unix) {
  if (ended(one) < unix) return nullptr;
  const trace::ShareSample* found = nullptr;
  for (const trace::ShareSample& sample : one.samples->shares())
    if (unix_at(*one.facts, sample.stamp) <= unix) found = &sample;
  return found;
}

// Returns the processes that have PSS samples and run on the machine of the first process.
std::vector<FamilyMember> on_one_machine(const std::vector<FamilyMember>& processes) {
  std::vector<FamilyMember> out;
  for (const FamilyMember& one : processes)
    if (one.facts->host == processes.front().facts->host && !one.samples->shares().empty()) out.push_back(one);
  return out;
}

// A sample of a process, or its start or end.
struct PssEvent {
  // The order of simultaneous events: a process runs from its start to its end, both included.
  enum class What : std::uint8_t { began, said, ended };
  double unix = 0;
  What what = What::began;
  std::size_t process = 0;
  const trace::ShareSample* share = nullptr;
};

std::vector<PssEvent> events_of(const std::vector<FamilyMember>& processes) {
  std::vector<PssEvent> out;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const FamilyMember& one = processes[i];
    out.push_back({began(one), PssEvent::What::began, i, nullptr});
    for (const trace::ShareSample& sample : one.samples->shares()) {
      const double unix = std::clamp(unix_at(*one.facts, sample.stamp), began(one), ended(one));
      out.push_back({unix, PssEvent::What::said, i, &sample});
    }
    out.push_back({ended(one), PssEvent::What::ended, i, nullptr});
  }
  std::stable_sort(out.begin(), out.end(), [](const PssEvent& a, const PssEvent& b) {
    return a.unix != b.unix ? a.unix < b.unix : a.what < b.what;
  });
  return out;
}

struct PssMoment {
  double unix = 0;
  std::uint64_t pss = 0;
  bool agreed = false; // each running process has reported since the last start or end
};

// The running processes, event by event.
class Together {
 public:
  explicit Together(std::size_t processes) : said_(processes), since_(processes) {}

  void take(const PssEvent& event) {
    switch (event.what) {
      case PssEvent::What::began:
        ++there_;
        return change();
      case PssEvent::What::said:
        pss_ += event.share->pss - (said_[event.process] == nullptr ? 0 : said_[event.process]->pss);
        said_[event.process] = event.share;
        spoken_ += since_[event.process] == changes_ ? 0 : 1;
        since_[event.process] = changes_;
        return;
      case PssEvent::What::ended:
        --there_;
        if (said_[event.process] != nullptr) pss_ -= said_[event.process]->pss;
        return change();
    }
  }

  PssMoment at(double unix) const { return {unix, pss_, spoken_ == there_}; }

 private:
  void change() {
    ++changes_;
    spoken_ = 0;
  }

  std::vector<const trace::ShareSample*> said_;
  std::vector<std::size_t> since_; // the number of changes before the last sample of each process
  std::size_t changes_ = 0;
  std::size_t there_ = 0;
  std::size_t spoken_ = 0; // processes that have reported since the last change
  std::uint64_t pss_ = 0;
};

// Returns the moment with the most PSS of all processes. Moments at which each process had reported since the
// last start or end of a process come first, unless they are far below another. In a job of 13 processes that
// started and ended all the time, the only such moment was at the end, when the launcher was alone.
PssMoment highest(const std::vector<FamilyMember>& processes) {
  constexpr double kFarBelow = 0.8;
  Together together(processes.size());
  PssMoment agreed, any;
  const std::vector<PssEvent> events = events_of(processes);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const PssEvent& one = events[i];
    together.take(one);
    if (one.what != PssEvent::What::said) continue;
    const PssEvent& next = events[i + 1]; // at the latest, the end of this process
    if (next.what == PssEvent::What::said && next.unix == one.unix) continue;
    const PssMoment moment = together.at(one.unix);
    if (moment.agreed && (!agreed.agreed || moment.pss > agreed.pss)) agreed = moment;
    if (any.unix == 0 || moment.pss > any.pss) any = moment;
  }
  const bool near = static_cast<double>(agreed.pss) >= kFarBelow * static_cast<double>(any.pss);
  return agreed.agreed && near ? agreed : any;
}

} // namespace

std::optional<Family> sum_family(const std::vector<FamilyMember>& all) {
  if (all.empty()) return std::nullopt;
  const std::vector<FamilyMember> processes = on_one_machine(all);
  if (processes.size() < 2) return std::nullopt;
  const PssMoment when = highest(processes);
  Family out;
  std::uint64_t anonymous = 0, files = 0, shared = 0;
  double oldest = when.unix; // the time of the oldest figure
  for (const FamilyMember& one : processes) {
    const trace::ShareSample* const share = share_at(one, when.unix);
    if (share == nullptr) continue;
    out.members.push_back({one.facts->pid, name_of(one.kind, one.facts->rank, one.facts->pid), *share});
    oldest = std::min(oldest, unix_at(*one.facts, share->stamp));
    out.resident += share->resident;
    anonymous += share->anonymous;
    files += share->file;
    shared += share->shmem;
  }
  std::stable_sort(out.members.begin(), out.members.end(),
                   [](const Family::Member& a, const Family::Member& b) { return a.share.pss > b.share.pss; });
  RssLedger& ledger = out.ledger;
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
    ledger.remarks.push_back(fmt::format(
        "not every process had a sample since the last start or end of one: the samples are up to {} old",
        duration(when.unix - oldest)));
  return out;
}

} // namespace memtrace::report
