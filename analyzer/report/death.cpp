// Room: report.
// Job: how it stood at the end of a process that did not end as it should have.
#include "report/death.h"

#include "report/witness.h"

namespace memtrace::report {
namespace {

constexpr std::uint64_t kSoon = 10'000'000'000; // ns: a program that gives up because of it is gone by then

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

void exceeded(Death& death) {
  const auto& space = death.last.samples.address_space();
  if (death.failure == nullptr || death.failure->memory != 0 || !space) return;
  const std::uint64_t asked = death.failure->asked;
  if (space->size_limit != trace::kNotSaid && space->size_limit < space->size + asked) {
    death.limit = space->size_limit;
    death.limit_of = "RLIMIT_AS";
    death.charge = space->size;
  } else if (space->data_limit != trace::kNotSaid && space->data_limit < space->data + asked) {
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
  if (kill != nullptr && kill->limited.empty()) {
    if (const auto& machine = death.last.samples.machine(); machine && machine->total != trace::kNotSaid)
      death.limit = machine->total, death.charge = machine->total - machine->available;
    death.limit_of = "the machine";
    return;
  }
  const trace::Group* group = binding(death.last.samples);
  if (kill != nullptr) {
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

// Of the newest large block: what is resident at the end beyond what was before it came, less what else came
// and went since. The rest is taken to be touched, or given back, in full; where that gives nonsense it was
// not.
std::optional<std::uint64_t> touched(const Death& death) {
  const fold::Birth& block = *death.last.newest;
  const fold::Moment* const before = death.last.sample_before(block.stamp - 1);
  if (before == nullptr) return std::nullopt;
  fold::Resident after = death.resident;
  std::int64_t level = death.last.level.live;
  if (!death.at_kill) {
    const fold::Moment& sample = death.last.sampled.back();
    if (sample.stamp <= block.stamp) return std::nullopt;
    level = sample.level.live;
  }
  const auto bytes = static_cast<double>(block.bytes);
  const double resident = static_cast<double>(after.anon + after.shmem) -
                          static_cast<double>(before->resident.anon + before->resident.shmem);
  const double others = static_cast<double>(level) - bytes - static_cast<double>(before->level.live);
  const double found = resident - others;
  if (found < -0.1 * bytes || found > 1.1 * bytes) return std::nullopt;
  return static_cast<std::uint64_t>(found < 0 ? 0 : found > bytes ? bytes : found);
}

// A kill comes with the first touch of a page: most often in the block that came last. Where more was taken
// since than that block has, it is long full.
std::optional<Filling> filling(const Death& death, const Ending& ending) {
  if (ending.how != "oom_kill" || !death.last.newest) return std::nullopt;
  if (death.last.born_after_newest > death.last.newest->bytes) return std::nullopt;
  const Filling out{*death.last.newest, touched(death)};
  if (out.touched && *out.touched >= out.block.bytes) return std::nullopt;
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
