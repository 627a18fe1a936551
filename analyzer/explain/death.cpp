// Purpose: finds the memory state at the end of a process that failed.
#include "analyzer/explain/death.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "analyzer/job/evidence_query.h"
#include "analyzer/job/fatal_failure.h"
#include "analyzer/job/worker_parent.h"

namespace memtrace::report {
namespace {

// ns: most time between a sample and the birth of the block that it measures
constexpr std::uint64_t kRecent = 1'000'000'000;

void at_the_end(Death& death) {
  const replay::EndState& last = death.last;
  death.then = {last.at, last.stamp, last.place, 0, last.level, last.births};
}

void at_the_failure(Death& death) {
  const replay::Refused& refused = *death.last.refused;
  death.then = {refused.at,    death.failure->stamp,
                refused.place, static_cast<replay::MemoryId>(death.failure->memory),
                refused.level, refused.births};
}

// True if the request exceeded a limit of the address space, by the sample `space` and the bytes mapped after
// it. Records that limit.
bool exceeded(Death& death, const trace::AddressSpace& space) {
  const trace::Failure& failure = *death.failure;
  const replay::Moment* const then = death.last.before(space.stamp);
  const auto live = static_cast<std::int64_t>(failure.live);
  const std::int64_t before = then != nullptr ? then->level.live : live;
  const std::uint64_t more = live > before ? static_cast<std::uint64_t>(live - before) : 0;
  const auto passes = [&](std::uint64_t held, std::uint64_t limit) {
    return limit != trace::kNotSaid && (failure.asked > limit || held + more > limit - failure.asked);
  };
  const bool by_size = passes(space.size, space.size_limit);
  if (!by_size && !passes(space.data, space.data_limit)) return false;
  death.limit = by_size ? space.size_limit : space.data_limit;
  death.limit_of = by_size ? "RLIMIT_AS" : "RLIMIT_DATA";
  death.charge = by_size ? space.size : space.data;
  death.charge_at = space.stamp;
  return true;
}

// Uses the last sample before the failure, else the first after it: the recorder takes one at a failure.
void limit_of_addresses(Death& death) {
  const auto& spaces = death.last.samples.address_spaces();
  const auto after = std::find_if(spaces.begin(), spaces.end(), [&](const trace::AddressSpace& space) {
    return space.stamp > death.failure->stamp;
  });
  if (after != spaces.begin() && exceeded(death, *std::prev(after))) return;
  if (after != spaces.end()) exceeded(death, *after);
}

// Returns the name of the address space limit whose value the failure reports.
std::string named_limit(const Death& death) {
  const std::uint64_t total = death.failure->total;
  const auto& spaces = death.last.samples.address_spaces();
  const bool of_data = std::any_of(spaces.begin(), spaces.end(), [&](const trace::AddressSpace& space) {
    return space.data_limit == total && space.size_limit != total;
  });
  return of_data ? "RLIMIT_DATA" : "RLIMIT_AS";
}

// Records the limit that the failed allocation met, if it is known.
void limit_of_failure(Death& death) {
  const trace::Failure& failure = *death.failure;
  const bool said = failure.total != trace::kNotSaid && failure.free <= failure.total;
  if (!said && failure.memory == 0) limit_of_addresses(death);
  if (!said) return;
  death.limit = failure.total;
  death.limit_of = failure.memory == 0 ? named_limit(death) : "cuda:" + std::to_string(failure.memory - 1);
  death.charge = failure.total - failure.free;
  death.charge_at = failure.stamp;
}

// True if /dev/shm had less space than the newest shared memory needs. Writing to it ends in SIGBUS.
bool unfit(const Death& death) {
  const auto& machine = death.last.samples.machine();
  if (!machine || !death.last.shared) return false;
  if (machine->shm_used == trace::kNotSaid || machine->shm_size == trace::kNotSaid) return false;
  const replay::RecentBirth& block = *death.last.shared;
  // The used bytes may include bytes of this block if the sample is newer.
  const bool before = machine->stamp < block.stamp;
  const std::uint64_t used = before ? machine->shm_used : 0;
  return block.bytes > machine->shm_size - std::min(used, machine->shm_size);
}

// Records the cgroup that the kernel names at the kill. If the kernel names none, the cgroup closest to its
// limit.
void limit_of_group(Death& death, const trace::Definitions& definitions, const evidence::Kill* kill) {
  death.group = binding(death.last.samples);
  if (kill != nullptr && !kill->limited.empty()) {
    death.group = nullptr; // the process may have moved to this cgroup, and no sample was taken there
    for (const trace::SampledCgroup& other : death.last.samples.groups()) {
      if (other.last && kernels_path(definitions.text(other.path)) == kill->limited) death.group = &other;
    }
    if (kill->limit != evidence::kUnknown) death.limit = kill->limit;
    death.limit_of = "cgroup " + kill->limited;
  }
  if (death.group == nullptr) return;
  if (!death.limit && death.group->last->limit != trace::kNotSaid) death.limit = death.group->last->limit;
  if (death.limit_of.empty()) death.limit_of = "cgroup " + kernels_path(definitions.text(death.group->path));
  death.charge = death.group->last->charge;
  death.charge_at = death.group->last->stamp;
}

// Records the limit that the kernel met at the kill, or that refused the allocation. If neither is known, the
// closest limit.
void limits(Death& death, const trace::Definitions& definitions, const ProcessEnd& ending) {
  if (death.failure != nullptr) return limit_of_failure(death);
  const auto& machine = death.last.samples.machine();
  if (death.unfit) {
    death.limit = machine->shm_size;
    death.limit_of = "/dev/shm";
    death.charge = machine->shm_used;
    death.charge_at = machine->stamp;
    return;
  }
  const evidence::Kill* const kill = ending.witness.kill;
  if (kill != nullptr && !kill->for_group()) {
    if (machine && machine->total != trace::kNotSaid)
      death.limit = machine->total, death.charge = machine->total - machine->available,
      death.charge_at = machine->stamp;
    death.limit_of = "the machine";
    return;
  }
  limit_of_group(death, definitions, kill);
  const evidence::Statement* const statement = ending.witness.statement;
  if (!death.limit && statement != nullptr && statement->limit != evidence::kUnknown)
    death.limit = statement->limit, death.limit_of = statement->who;
}

void resident(Death& death, const ProcessEnd& ending) {
  const replay::Moment* sample = death.last.sample_before(death.then.stamp);
  if (sample == nullptr && !death.last.sampled.empty()) sample = &death.last.sampled.front();
  if (sample != nullptr) death.resident = sample->resident;
  const evidence::Kill* const kill = ending.witness.kill;
  if (kill == nullptr || kill->anon == evidence::kUnknown) return;
  const auto known = [](std::uint64_t bytes) { return bytes == evidence::kUnknown ? 0 : bytes; };
  death.resident = {kill->anon, known(kill->file), known(kill->shmem)};
  death.at_kill = true;
}

// Returns the touched bytes of the newest large block: the growth of resident memory since a sample before its
// birth, less the growth of other live memory. Assumes that other memory was touched, or freed, in full. Memory
// that was untouched at the sample makes the result too large, so the smallest of several samples is best.
// Returns nullopt for implausible results.
std::optional<std::uint64_t> touched(const Death& death) {
  const replay::RecentBirth& block = *death.last.newest;
  const bool looked = !death.last.sampled.empty() && death.last.sampled.back().stamp > block.stamp;
  if (!death.at_kill && !looked) return std::nullopt;
  const replay::Level& level = death.at_kill ? death.last.level : death.last.sampled.back().level;
  const auto bytes = static_cast<double>(block.bytes);
  std::optional<double> least;
  for (const replay::Moment& sample : death.last.sampled) {
    if (sample.stamp > block.stamp || sample.stamp + kRecent < block.stamp) continue;
    const double others = static_cast<double>(level.live) - bytes - static_cast<double>(sample.level.live);
    const double found = static_cast<double>(death.resident.anon + death.resident.shmem) -
                         static_cast<double>(sample.resident.anon + sample.resident.shmem) - others;
    least = std::min(found, least.value_or(found));
  }
  if (!least || *least < -0.1 * bytes) return std::nullopt;
  return static_cast<std::uint64_t>(std::clamp(*least, 0.0, bytes));
}

// Returns the newest large block if the process was probably filling it. A kill happens at the first touch of a
// page, mostly in the newest block. If more bytes were allocated since than the block has, the block is full.
// An old block that all samples show as full is full, too.
std::optional<BlockBeingFilled> filling(const Death& death, const ProcessEnd& ending) {
  if (ending.how != "oom_kill" || !death.last.newest) return std::nullopt;
  const replay::RecentBirth& block = *death.last.newest;
  if (death.last.born_after_newest > block.bytes) return std::nullopt;
  BlockBeingFilled out{block, touched(death)};
  if (!out.touched || *out.touched < block.bytes) return out;
  if (block.stamp + kRecent < death.last.stamp) return std::nullopt;
  out.touched.reset(); // the block before it was not full at the samples, so the two cannot be separated
  return out;
}

// True if the process is a worker of a loader whose file found no room in /dev/shm. It reported that, and its
// end has another cause.
bool is_refused_worker(const trace::Trace& trace, const trace::Samples& samples) {
  const auto& failures = samples.failures();
  return is_worker(trace.facts()) && std::any_of(failures.begin(), failures.end(),
                                                 [](const trace::Failure& one) { return one.is_shm_full(); });
}

} // namespace

bool may_have_died(const ProcessEnd& ending) {
  return ended_badly(ending);
}

std::optional<Death> find_death(const trace::Trace& trace, const ProcessEnd& ending, replay::EndState last) {
  if (!may_have_died(ending)) return std::nullopt;
  std::optional<Death> out = Death{};
  out->last = std::move(last);
  out->failure = fatal(out->last.samples, out->last.stamp, ending, is_worker(trace.facts()));
  if (ending.how == "exit" && out->failure == nullptr) return std::nullopt;
  if (!killed_for_memory(ending) && ending.how != "exit" && !is_refused_worker(trace, out->last.samples))
    out->unfit = unfit(*out);
  if (out->failure != nullptr && out->last.refused) {
    at_the_failure(*out);
  } else {
    at_the_end(*out);
  }
  limits(*out, trace.definitions(), ending);
  resident(*out, ending);
  out->filling = filling(*out, ending);
  return out;
}

} // namespace memtrace::report
