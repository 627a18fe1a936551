// Purpose: compares the bytes that training retains for each parameter with theory, line by line.
#include "analyzer/explain/bytes_per_parameter.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/explain/block_owner.h"
#include "analyzer/explain/nothing_to_show.h"
#include "analyzer/explain/update_instant.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"

namespace memtrace::report {
namespace {

using replay::Instant;
using replay::Measure;
using replay::MemoryId;
using replay::Role;
using replay::Step;

// The least bytes per parameter of a row. Memory outside of tensors does not belong to parameters (Python,
// buffers of math libraries), unless a phase of training made much of it.
constexpr double kRow = 0.01, kRowOfOther = 0.1;
constexpr std::uint64_t kLeastOfOther = 16 << 20; // an import within a phase allocates less

using RowKey = std::tuple<Role, format::Kind, std::string, Step, format::StackId, format::TextId, std::string>;
using KeptRows = std::map<RowKey, KeptRow>;

RowKey key_of(const ProcessAnalysis& analysis, const replay::Holding& holding, Step step) {
  const bool known = holding.role != Role::unknown;
  return {holding.role,
          holding.kind,
          analysis.account.paths.text(holding.born_phase),
          step,
          known ? format::StackId{} : holding.stack,
          holding.name,
          holding.made_as};
}

// Sums the holdings by row. If `whenever`, blocks of different steps share a row.
KeptRows grouped(ProcessAnalysis& analysis, const replay::Holdings& holdings, Measure measure, bool whenever) {
  KeptRows out;
  for (const replay::Holding& holding : holdings) {
    const std::string phase = analysis.account.paths.text(holding.born_phase);
    const bool known = holding.role != Role::unknown;
    KeptRow& row = out[key_of(analysis, holding, whenever ? Step::none : holding.born_step)];
    row.tensors = row.tensors || holding.tensor || measure == Measure::tensor;
    if (row.sites.empty()) row.use = use_of(analysis, holding);
    row.role = holding.role;
    row.kind = holding.kind;
    row.buffer = holding.name != format::TextId{};
    row.name = row.buffer                 ? analysis.trace->definitions().text(holding.name)
               : *holding.made_as != '\0' ? holding.made_as
               : known                    ? replay::role_name(holding.role)
                                          : format::kKindNames[static_cast<std::size_t>(holding.kind)];
    row.phase = phase;
    // Of blocks of several steps, the newest say how long such a block lives. Older ones stayed for another
    // reason: a block of step 14 was "alive 3.9 s", as a leaked one of step 1.
    const bool newer = row.sites.empty() || holding.born_step > row.step;
    if (newer) row.step = holding.born_step;
    row.asked += holding.asked != 0 ? holding.asked : holding.bytes;
    row.bytes += holding.bytes;
    row.resident += holding.resident;
    row.sites.insert(holding.stack);
    if (holding.late > row.late) {
      row.late_phase = analysis.account.paths.text(holding.late_phase);
      row.late_step = holding.late_step;
    }
    row.late += holding.late;
    if (!newer && (holding.born_step != row.step || holding.bytes <= row.largest)) continue;
    row.largest = holding.bytes;
    row.lifetime = holding.lifetime;
    row.stack = holding.stack;
  }
  return out;
}

// Joins the rows that differ in their steps alone, if there are many. Such memory grows: of a leak over 40
// steps, there would be 40 rows.
KeptRows joined(const KeptRows& rows) {
  constexpr std::size_t kMany = 4;
  std::map<RowKey, std::vector<const KeptRow*>> alike; // the key without its step
  for (const auto& [key, row] : rows) {
    RowKey of_any_step = key;
    std::get<Step>(of_any_step) = Step::none;
    alike[of_any_step].push_back(&row);
  }
  KeptRows out;
  for (const auto& [key, steps] : alike) {
    const bool many = steps.size() >= kMany;
    for (const KeptRow* row : steps) {
      RowKey at = key;
      if (!many) std::get<Step>(at) = row->step;
      KeptRow& into = out[at];
      if (into.sites.empty()) {
        into = *row;
        into.last_step = row->step;
        continue;
      }
      if (row->largest > into.largest) {
        into.largest = row->largest;
        into.lifetime = row->lifetime;
        into.stack = row->stack;
      }
      into.sites.insert(row->sites.begin(), row->sites.end());
      if (into.step == Step::none || (row->step != Step::none && row->step < into.step)) into.step = row->step;
      into.last_step = std::max(into.last_step, row->step);
      for (std::uint64_t KeptRow::*sum : {&KeptRow::asked, &KeptRow::bytes, &KeptRow::resident, &KeptRow::late})
        into.*sum += row->*sum;
    }
  }
  return out;
}

bool is_row(const Explanation& of, const KeptRow& row, std::uint64_t bytes) {
  const bool of_other = !row.tensors && row.role == Role::unknown;
  if (of_other && (row.phase == "other" || bytes < kLeastOfOther)) return false;
  return of.per_parameter(bytes) >= (of_other ? kRowOfOther : kRow);
}

// Adds one row for the tensors that are too small for a row of their own.
void add_small(Explanation& out, const KeptRows& kept) {
  KeptRow small;
  small.tensors = true;
  for (const auto& [key, row] : kept) {
    if (!row.tensors || is_row(out, row, row.bytes)) continue;
    small.asked += row.asked;
    small.bytes += row.bytes;
    small.resident += row.resident;
    small.sites.insert(row.sites.begin(), row.sites.end());
  }
  small.name = fmt::format("{} more", small.sites.size());
  if (!small.sites.empty()) out.kept.push_back(small);
}

void sort(std::vector<KeptRow>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const KeptRow& a, const KeptRow& b) { return a.resident > b.resident; });
}

// Returns the number of states of parameter size that an optimizer keeps, or nullopt if it is not known.
std::optional<double> states_of(const std::string& optimizer) {
  const std::string name = optimizer.substr(0, optimizer.find(' '));
  const auto has = [&](const char* part) { return optimizer.find(part) != std::string::npos; };
  if (has("Adafactor") || has("8bit")) return std::nullopt;
  if (has("Adam")) return has("amsgrad=True") ? 3 : 2;
  if (name.ends_with("SGD")) return has("momentum=") ? 1 : 0;
  if (name.ends_with("RMSprop")) return 1 + (has("momentum=") ? 1 : 0) + (has("centered=True") ? 1 : 0);
  if (name.ends_with("Adagrad") || name.ends_with("Lion")) return 1;
  return std::nullopt;
}

// The bytes per parameter of one role: so many buffers, each with as many bytes.
struct RoleTheory {
  double each = 0;
  double buffers = 1;
};

// Returns how many ranks share the master copies, and with them the gradients and states: all of them if the
// copies here are that part of the parameters (ZeRO pads it by a little), else 1.
double ranks_that_share(const Explanation& of, double masters) {
  constexpr double kPadding = 0.05;
  const double all = 4 * static_cast<double>(of.analysis->facts().parameters->trainable);
  const double ranks = std::max(1.0, static_cast<double>(of.analysis->facts().world_size));
  return std::abs(masters * ranks - all) <= kPadding * all ? ranks : 1;
}

// Returns the theory of each role, by the types of the parameters. If there are fp32 master copies, gradients
// and states belong to them. (ZeRO, Rajbhandari et al. 2020, section 3.1: 2 + 2 + 12 bytes with Adam, of which
// each rank has its part. If offloaded, the gradients are fp32, too.)
std::map<Role, RoleTheory> theory_of(const Explanation& of) {
  std::map<Role, RoleTheory> out;
  const trace::Facts& facts = of.analysis->facts();
  if (!facts.parameters || facts.parameters->count == 0) return out;
  double masters = 0;
  for (const KeptRow& row : of.kept)
    if (row.role == Role::master) masters += static_cast<double>(row.asked);
  const auto all = static_cast<double>(facts.parameters->count);
  const double each = static_cast<double>(facts.parameters->bytes) / all;
  const double trained = static_cast<double>(facts.parameters->trainable) / all;
  const double updated = (masters > 0 ? 4 / ranks_that_share(of, masters) : each) * trained;
  out[Role::parameter] = {each};
  if (masters > 0) out[Role::master] = {updated};
  out[Role::gradient] = {updated};
  if (const auto states = states_of(facts.note("optimizer").value_or("")); states && *states > 0)
    out[Role::optimizer_state] = {updated, *states};
  return out;
}

// Writes the theory into the largest rows of each role: one buffer into the row of a named buffer, all that
// are left into any other row.
void add_theory(Explanation& out) {
  std::map<Role, RoleTheory> theory = theory_of(out);
  for (KeptRow& row : out.kept) {
    const auto at = theory.find(row.role);
    if (at == theory.end()) continue;
    RoleTheory& left = at->second;
    const double buffers = row.buffer ? std::min(1.0, left.buffers) : left.buffers;
    row.theory = buffers * left.each;
    out.theory = out.theory.value_or(0) + *row.theory;
    left.buffers -= buffers;
    if (left.buffers <= 0) theory.erase(at);
  }
}

// Adds the blocks that no row has, which are not tensors and too little for a row, and the sums of what is
// alive.
void add_beside(Explanation& out, const replay::Holdings& holdings, const KeptRows& kept, std::int64_t level) {
  for (const replay::Holding& holding : holdings) {
    RowKey key = key_of(*out.analysis, holding, holding.born_step);
    auto row = kept.find(key);
    if (row == kept.end()) { // joined with the rows of other steps
      std::get<Step>(key) = Step::none;
      row = kept.find(key);
    }
    if (row != kept.end() && !row->second.tensors && !is_row(out, row->second, row->second.bytes))
      out.beside_blocks.push_back(holding);
  }
  std::uint64_t given = 0;
  for (const KeptRow& row : out.kept) given += row.bytes;
  const auto all = static_cast<std::uint64_t>(std::max<std::int64_t>(level, 0));
  out.beside = all - std::min(given, all);
  out.reserved = std::min(untouched(out.beside_blocks), out.beside);
  out.alive = all - std::min(untouched(holdings), all);
}

std::vector<PartOfStep> parts_of(const ProcessAnalysis& analysis, MemoryId memory) {
  std::vector<std::pair<std::uint64_t, PartOfStep>> found;
  const replay::Paths& paths = analysis.account.paths;
  for (const replay::Row& row : analysis.account.rows) {
    if (row.step != analysis.account.first_update || row.count == 0) continue;
    const std::vector<std::string> names = paths.texts(row.path);
    if (names.size() < 2 || std::find(names.begin(), names.end() - 1, "step") == names.end() - 1) continue;
    const replay::Figures& live = row.of(memory).live;
    found.push_back({row.began, {names.back(), row.step, live.net, live.transient}});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<PartOfStep> out;
  out.reserve(found.size());
  for (auto& [began, part] : found) out.push_back(std::move(part));
  return out;
}

// Returns the ledger with an answer of the allocator that is nearest to `then`, or null. The one at the exit is
// used only if there is no other: by then the program has freed what it kept, and malloc retains that, too.
const trace::LedgerPoint* nearest_answer(const std::vector<trace::LedgerPoint>& all, format::Stamp then) {
  const auto distance = [then](const trace::LedgerPoint& one) {
    return one.stamp > then ? one.stamp - then : then - one.stamp;
  };
  const trace::LedgerPoint* best = nullptr;
  for (const trace::LedgerPoint& one : all) {
    if (!one.asked) continue;
    if (best == nullptr || std::pair(one.at_end, distance(one)) < std::pair(best->at_end, distance(*best)))
      best = &one;
  }
  return best;
}

// Adds the freed bytes that malloc retained, as the allocator reported them nearest to the update.
void add_kept_by_malloc(Explanation& out) {
  const trace::LedgerPoint* const said =
      nearest_answer(out.analysis->account.ledgers.all(), out.analysis->account.last_update->stamp);
  if (out.memory != 0 || said == nullptr) return;
  KeptRow row;
  row.state = KeptRow::Retention::kept_by_malloc;
  row.name = "kept by malloc";
  row.kind = format::Kind::heap;
  row.resident = said->kept;
  if (row.resident >= kLeastOfOther && out.per_parameter(row.resident) >= kRowOfOther) out.kept.push_back(row);
}

std::string setup_of(const trace::Facts& facts) {
  std::string out = facts.note("optimizer").value_or("no optimizer seen");
  for (const auto& [dtype, count] : facts.parameters_by_dtype) out += ", " + dtype;
  if (facts.world_size > 1) out += fmt::format(", {} ranks", facts.world_size);
  return out;
}

} // namespace

std::uint64_t Explanation::kept_bytes() const {
  std::uint64_t sum = 0;
  for (const KeptRow& row : kept) sum += row.resident;
  return sum;
}

std::map<Role, std::uint64_t> Explanation::model_bytes() const {
  std::map<Role, std::uint64_t> out;
  for (const KeptRow& row : kept) {
    switch (row.role) {
      case Role::parameter:
      case Role::gradient:
      case Role::optimizer_state:
      case Role::master:
      case Role::buffer:
        out[row.role] += row.bytes;
        break;
      default:
        if (row.buffer) out[Role::staging] += row.bytes;
    }
  }
  return out;
}

std::uint64_t Explanation::model_sum() const {
  std::uint64_t sum = 0;
  for (const auto& [role, bytes] : model_bytes()) sum += bytes;
  return sum;
}

bool Explanation::model_leads() const {
  return model_sum() >= alive / 2;
}

Explanation explain(ProcessAnalysis& analysis, MemoryId memory, std::optional<std::uint64_t> parameters) {
  const trace::Facts& facts = analysis.facts();
  if (!parameters && facts.parameters) parameters = facts.parameters->count;
  if (parameters.value_or(0) == 0)
    throw NothingToShow(
        fmt::format("{}: no module or optimizer of PyTorch was seen; say how many parameters "
                    "there are with --params N",
                    pid_or_script(facts)));
  const auto& update = analysis.account.last_update;
  if (!update)
    throw NothingToShow(
        fmt::format("{}: no optimizer's step ended, so there is no moment at which all is there "
                    "that is kept; memtrace report shows what was held at the peak",
                    pid_or_script(facts)));
  Explanation out;
  out.analysis = &analysis;
  out.memory = memory;
  out.parameters = *parameters;
  out.setup = setup_of(facts);
  out.step = update->step;

  out.pinned_idle = memory == 0 ? update->pinned_idle : 0;

  const Instant then = update_instant(analysis.account, memory);
  const Measure measure = then.measure;
  const replay::Level level = memory < update->levels.size() ? update->levels[memory] : replay::Level{};
  const KeptRows kept = joined(grouped(analysis, analysis.set(then), measure, false));
  std::int64_t tensors = 0;
  for (const auto& [key, row] : kept) {
    if (row.tensors) tensors = replay::wrapping_add(tensors, row.asked);
    if (is_row(out, row, row.bytes)) out.kept.push_back(row);
  }
  out.unaccounted = replay::wrapping_sub(level.tensor, tensors);
  const KeptRows before = grouped(analysis, analysis.set(then), measure, true);
  const Instant peak{memory, measure, analysis.account.peaks.at(memory).tensor.at};
  for (auto [key, row] : grouped(analysis, analysis.set(peak), measure, true)) {
    const auto at = before.find(key);
    const KeptRow known = at == before.end() ? KeptRow{} : at->second;
    if (row.bytes <= known.bytes || !is_row(out, row, row.bytes - known.bytes)) continue;
    row.bytes -= known.bytes;
    row.asked -= std::min(row.asked, known.asked);
    row.resident -= std::min(row.resident, known.resident);
    row.state = KeptRow::Retention::freed;
    out.transient.push_back(std::move(row));
  }
  out.parts = parts_of(analysis, memory);
  add_kept_by_malloc(out);
  sort(out.kept);
  sort(out.transient);
  add_theory(out);
  add_small(out, kept);
  add_beside(out, analysis.set(then), kept, measure == Measure::live ? level.live : level.tensor);
  return out;
}

} // namespace memtrace::report
