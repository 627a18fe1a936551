// Purpose: tells the forward passes after the last update from a step of training.
#include "analyzer/explain/after_training.h"

namespace memtrace::report {
namespace {

bool trains(const replay::Account& account, const replay::Row& row) {
  const replay::KnownPhase known = replay::known_phase(account.paths.text(account.paths.last(row.path)));
  return row.count != 0 && (known == replay::KnownPhase::backward || known == replay::KnownPhase::step);
}

} // namespace

replay::Step after_training(const replay::Account& account, const trace::Facts& facts, const ProcessEnd& end) {
  const replay::Step last = account.last_step;
  // If the program counts its steps, or has no update, no step ends at an update.
  if (facts.step_records || account.first_update == replay::Step::none || last <= account.first_update)
    return replay::Step::none;
  if (end.how != "exit" || end.code != 0 || !account.whole(last)) return replay::Step::none;
  for (const replay::Row& row : account.rows)
    if (row.step == last && trains(account, row)) return replay::Step::none;
  return last;
}

replay::Step last_of_training(replay::Step after) {
  return static_cast<replay::Step>(static_cast<std::int64_t>(after) - 1);
}

} // namespace memtrace::report
