// Room: report.
// Job: how it stood at the end of a process that did not end as it should have.
#include "report/death.h"

#include <algorithm>

#include "report/witness.h"

namespace memtrace::report {
namespace {

constexpr std::uint64_t kSoon = 10'000'000'000;  // ns: a program that gives up because of it is gone by then
constexpr std::uint64_t kRecent = 1'000'000'000; // ns: between a sample and the block that is measured by it

bool ended_badly(const Ending& ending) {
  return ending.how == "oom_kill" || ending.how == "signal" || ending.how == "unknown" ||
         (ending.how == "exit" && ending.code != 0);
}

// The last allocation that failed, where the process ended soon afterwards.
const trace::Failure* fatal(const fold::Last& last) {
  const auto& failures = last.samples.failures();
  if (failures.empty() || failures.back().stamp + kSoon < last.stamp) return nullptr;
  return &failures.back();
}

// Whether what was asked for would have passed a limit of the address space. The sample may be from before some
// of what was live then: that much was mapped since.
void exceeded(Death& death) {
  const auto& space = death.last.samples.address_space();
  if (death.failure == nullptr || death.failure->memory != 0 || !space) return;
  const fold::Moment* const then = death.last.before(space->stamp);
  const auto live = static_cast<std::int64_t>(death.failure->live);
  const std::int64_t before = then != nullptr ? then->level.live : live;
  const std::uint64_t more = live > before ? static_cast<std::uint64_t>(live - before) : 0;
  const auto passes = [&](std::uint64_t held, std::uint64_t limit) {
    return limit != trace::kNotSaid &&
           (death.failure->asked > limit || held + more > limit - death.failure->asked);
  };
  if (passes(space->size, space->size_limit)) {
    death.limit = space->size_limit;
    death.limit_of = "RLIMIT_AS";
    death.charge = space->size;
  } else if (passes(space->data, space->data_limit)) {
    death.limit = space->data_limit;
    death.limit_of = "RLIMIT_DATA";
    death.charge = space->data;
  }
}

// What the kernel met at the kill; without its word the limit that was closest.
void limits(Death& death, const trace::Definitions& definitions, const Ending& ending) {
  exceeded(death);
  if (death.limit) return;
  const evidence::Kill* const kill = ending.witness.kill;
  if (kill != nullptr && !kill->for_group()) {
    if (const auto& machine = death.last.samples.machine(); machine && machine->total != trace::kNotSaid)
      death.limit = machine->total, death.charge = machine->total - machine->available;
    death.limit_of = "the machine";
    return;
  }
  const trace::Group* group = binding(death.last.samples);
  if (kill != nullptr && !kill->limited.empty()) {
    for (const trace::Group& other : death.last.samples.groups()) {
      if (other.last && kernels_path(definitions.text(other.path)) == kill->limited) group = &other;
    }
    if (kill->limit != evidence::kUnknown) death.limit = kill->limit;
    death.limit_of = "cgroup " + kill->limited;
  }
  if (group != nullptr) {
    if (!death.limit && group->last->limit != trace::kNotSaid) death.limit = group->last->limit;
    if (death.limit_of.empty()) death.limit_of = "cgroup " + kernels_path(definitions.text(group->path));
    death.charge = group->last->charge;
  }
  const evidence::Statement* const statement = ending.witness.statement;
  if (!death.limit && statement != nullptr && statement->limit != evidence::kUnknown)
    death.limit = statement->limit, death.limit_of = statement->who;
}

void resident(Death& death, const Ending& ending) {
  if (!death.last.sampled.empty()) death.resident = death.last.sampled.back().resident;
  const evidence::Kill* const kill = ending.witness.kill;
  if (kill == nullptr || kill->anon == evidence::kUnknown) return;
  const auto known = [](std::uint64_t bytes) { return bytes == evidence::kUnknown ? 0 : bytes; };
  death.resident = {kill->anon, known(kill->file), known(kill->shmem)};
  death.at_kill = true;
}

// Of the newest large block: what is resident at the end beyond what was at a sample before it came, less what
// else came and went since. All else is taken to be touched, or given back, in full. What was not yet at the
// sample makes the figure too large, so of several samples the smallest is the best. Nonsense is none.
std::optional<std::uint64_t> touched(const Death& death) {
  const fold::Birth& block = *death.last.newest;
  const bool looked = !death.last.sampled.empty() && death.last.sampled.back().stamp > block.stamp;
  if (!death.at_kill && !looked) return std::nullopt;
  const fold::Level& level = death.at_kill ? death.last.level : death.last.sampled.back().level;
  const auto bytes = static_cast<double>(block.bytes);
  std::optional<double> least;
  for (const fold::Moment& sample : death.last.sampled) {
    if (sample.stamp > block.stamp || sample.stamp + kRecent < block.stamp) continue;
    const double others = static_cast<double>(level.live) - bytes - static_cast<double>(sample.level.live);
    const double found = static_cast<double>(death.resident.anon + death.resident.shmem) -
                         static_cast<double>(sample.resident.anon + sample.resident.shmem) - others;
    least = std::min(found, least.value_or(found));
  }
  if (!least || *least < -0.1 * bytes) return std::nullopt;
  return static_cast<std::uint64_t>(std::clamp(*least, 0.0, bytes));
}

// A kill comes with the first touch of a page: most often in the block that came last. Where more was taken
// since than that block has, it is long full, and so is an old one that all samples say is full.
std::optional<Filling> filling(const Death& death, const Ending& ending) {
  if (ending.how != "oom_kill" || !death.last.newest) return std::nullopt;
  const fold::Birth& block = *death.last.newest;
  if (death.last.born_after_newest > block.bytes) return std::nullopt;
  Filling out{block, touched(death)};
  if (!out.touched || *out.touched < block.bytes) return out;
  if (block.stamp + kRecent < death.last.stamp) return std::nullopt;
  out.touched.reset(); // the one before it was not full at the samples: how much is whose is not known
  return out;
}

} // namespace

std::optional<Death> death(const trace::Trace& trace, const Ending& ending) {
  if (!ended_badly(ending)) return std::nullopt;
  std::optional<Death> out = Death{};
  out->last = fold::last(trace);
  if (ending.how != "oom_kill") out->failure = fatal(out->last);
  if (ending.how == "exit" && out->failure == nullptr) return std::nullopt;
  limits(*out, trace.definitions(), ending);
  resident(*out, ending);
  out->filling = filling(*out, ending);
  return out;
}

} // namespace memtrace::report
