// Purpose: one process, analyzed and ready to be written as text or JSON.
#include "analyzer/explain/process_analysis.h"

#include <charconv>
#include <set>

#include "analyzer/explain/after_training.h"
#include "analyzer/explain/leak_steps.h"
#include "analyzer/explain/thresholds.h"
#include "analyzer/explain/training_peak.h"
#include "analyzer/explain/update_instant.h"
#include "analyzer/explain/workspaces.h"
#include "analyzer/passes/unused_reserved.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/torch_snapshot_text.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

using replay::Instant;
using replay::Measure;
using replay::MemoryId;

void add_instants(const replay::Row& row, std::vector<Instant>& out) {
  if (row.count == 0) return; // `other` has no levels
  for (std::size_t i = 0; i < row.memory.size(); ++i) {
    const auto memory = static_cast<MemoryId>(i);
    out.push_back({memory, Measure::live, row.memory[i].live.peak_at});
    if (row.memory[i].tensor.peak != 0) out.push_back({memory, Measure::tensor, row.memory[i].tensor.peak_at});
  }
}

void add_instants(const std::vector<RareStep>& rare_steps, std::vector<Instant>& out) {
  for (const RareStep& rare : rare_steps)
    if (rare.peak_at != 0) out.push_back({rare.memory, rare.measure, rare.peak_at});
}

std::vector<Instant> instants(const ProcessAnalysis& analysis) {
  std::vector<Instant> out;
  for (const replay::ShownRow& shown : analysis.shown.rows) {
    if (shown.bucket == nullptr) add_instants(*shown.row, out);
  }
  if (analysis.shown.steady) {
    for (const replay::Row& row : analysis.steady.rows) add_instants(row, out);
  }
  for (const auto& [memory, peaks] : analysis.account.peaks) {
    if (!peaks.live.bucket) out.push_back({memory, Measure::live, peaks.live.at});
    if (!peaks.tensor.bucket) out.push_back({memory, Measure::tensor, peaks.tensor.at});
    out.push_back(end_instant(analysis.account, memory, Measure::live));
    if (peaks.tensor.bytes != 0) out.push_back(end_instant(analysis.account, memory, Measure::tensor));
    for (const Measure measure : {Measure::live, Measure::tensor})
      if (const auto peak = training_peak(analysis.account, analysis.buckets, memory, measure);
          peak && !peak->bucket)
        out.push_back({memory, measure, peak->at});
  }
  if (analysis.account.last_update) {
    for (const auto& [memory, peaks] : analysis.account.peaks) {
      const Instant update = update_instant(analysis.account, memory);
      out.push_back(update);
      if (!peaks.tensor.bucket) out.push_back({memory, update.measure, peaks.tensor.at});
    }
  }
  for (const replay::MarkedInstant& marked : analysis.account.instants.all())
    for (std::size_t i = 0; i < marked.levels.size(); ++i)
      out.push_back({static_cast<MemoryId>(i), Measure::live, marked.at});
  for (const auto& [memory, peaks] : analysis.account.peaks)
    if (const auto instant = leak_instant(analysis.account, memory)) out.push_back(*instant);
  add_instants(analysis.rare_steps, out);
  if (analysis.death) {
    out.push_back({analysis.death->then.memory, Measure::live, analysis.death->then.at});
    out.push_back({analysis.death->then.memory, Measure::tensor, analysis.death->then.at});
  }
  return out;
}

// True if an armed process held tensors there before it was recorded. The trace does not have these blocks, so
// it cannot tell how much of a segment is in use.
bool held_before(const ProcessAnalysis& analysis, MemoryId memory) {
  const auto& before = analysis.facts().before;
  if (!before) return false;
  const auto held = before->devices.find(memory);
  return held != before->devices.end() && held->second.live != 0;
}

// Adds the segments at the peak of each GPU's framework allocator, and of the GPU that ran out of memory. The
// driver's pools have no segments.
void add_segments(ProcessAnalysis& analysis) {
  std::map<MemoryId, replay::DeviceInstant> fullest;
  std::set<replay::DeviceInstant> wanted;
  for (const auto& [memory, peaks] : analysis.account.peaks) {
    if (memory == 0 || !peaks.reserved || peaks.reserved->bytes <= 0 || held_before(analysis, memory)) continue;
    if (!peaks.reserved->bucket) wanted.insert(fullest[memory] = {memory, peaks.reserved->at});
    if (analysis.death && analysis.death->then.memory == memory)
      wanted.insert({memory, analysis.death->then.at});
  }
  auto found = replay::segments_at(*analysis.trace, wanted);
  const auto there = [](const replay::Segments& of) { return !of.each.empty() || of.outside != 0; };
  for (const auto& [memory, instant] : fullest)
    if (there(found[instant])) analysis.segments[memory] = found[instant];
  if (!analysis.death) return;
  if (const auto last = found.find({analysis.death->then.memory, analysis.death->then.at}); last != found.end())
    analysis.death_segments = last->second;
}

// True if the program or a framework told where a phase or a step begins, or if the trace lacks events. Then
// cycles are not guessed. A snapshot of PyTorch is the history of a training.
bool is_marked(const ProcessAnalysis& analysis) {
  const replay::Account& account = analysis.account;
  if (account.last_step != replay::Step::none || account.detail.size() > 1 || !analysis.buckets.rows.empty() ||
      torch_history(analysis.facts()))
    return true;
  for (const replay::Row& row : account.rows)
    if (row.count != 0) return true;
  return false;
}

// Makes the pass over all events.
void first_pass(ProcessAnalysis& analysis, const Options& options) {
  replay::EndStateCollector at_end;
  replay::UnusedReserved unused;
  replay::StepStarts starts;
  std::vector<replay::SideObserver*> beside{&unused, &starts};
  const bool may_be_dead = may_have_died(analysis.end);
  if (may_be_dead) beside.push_back(&at_end);
  if (options.next_peak) beside.push_back(&analysis.peak_history.emplace(kWorthwhile));
  replay::WantedSteps wanted{.all = options.steps.all};
  if (options.steps.range) wanted.from = options.steps.range->from, wanted.to = options.steps.range->to;
  analysis.account = replay::account_phases(*analysis.trace, analysis.keyframes.get(), beside, wanted);
  analysis.step_starts = starts.take();
  analysis.unused_reserved = unused.byte_seconds();
  if (may_be_dead) analysis.death = find_death(*analysis.trace, analysis.end, std::move(at_end).take());
}

} // namespace

double ProcessAnalysis::seconds(format::Stamp stamp) const {
  const format::Stamp start = facts().start_stamp;
  return stamp > start ? static_cast<double>(stamp - start) / 1e9 : 0;
}

std::optional<std::uint64_t> ProcessAnalysis::own_bytes() const {
  std::uint64_t bytes = trace->rollup() != nullptr ? trace->rollup()->header.own_bytes : 0;
  if (const auto note = facts().note("own"); note && bytes == 0)
    std::from_chars(note->data(), note->data() + note->size(), bytes);
  const trace::Rings* const rings = trace->rings();
  if (bytes == 0 && rings != nullptr) bytes = rings->header.own_bytes;
  return bytes == 0 ? std::nullopt : std::optional(bytes);
}

const replay::Holdings& ProcessAnalysis::set(Instant instant) const {
  static const replay::Holdings nothing;
  const auto at = sets.find(instant);
  return at != sets.end() ? at->second : nothing;
}

bool ProcessAnalysis::lacks_parameters() const {
  const auto has = [this](replay::Role role) {
    for (const auto& [instant, alive] : sets)
      for (const replay::Holding& holding : alive)
        if (holding.role == role) return true;
    return false;
  };
  const auto& parameters = facts().parameters;
  return parameters && parameters->bytes >= (1 << 20) && has(replay::Role::gradient) &&
         !has(replay::Role::parameter);
}

std::string ProcessAnalysis::phase_name(replay::PathId path) const {
  constexpr std::size_t kMost = 1024; // bytes: ten lines
  std::string out;
  for (const std::string& name : account.paths.texts(path))
    out += (out.empty() ? "" : "/") + printable(phase_words(name));
  if (out.size() <= kMost) return out;
  return shortened(out, kMost);
}

std::string ProcessAnalysis::phase_and_step(replay::PathId path, replay::Step step) const {
  std::string phase = path == replay::PathId::other ? "" : phase_name(path);
  if (step == replay::Step::none) return phase;
  const bool after = step == after_training;
  if (phase.empty()) return after ? when("after step", last_of_training(step)) : when("step", step);
  return after ? when(phase + " after step", last_of_training(step)) : when(phase, step);
}

std::string ProcessAnalysis::place(replay::PathId path, replay::Step step) const {
  const std::string text = phase_and_step(path, step);
  if (!text.empty()) return (text.starts_with("after ") ? "" : "in ") + text;
  const auto history = torch_history(facts());
  if (!history) return "outside training";
  return history->events == 0 ? "when it was taken" : "outside of all annotations";
}

std::string memory_name(MemoryId memory) {
  return memory == 0 ? "host" : "cuda:" + std::to_string(memory - 1);
}

std::optional<MemoryId> memory_named(const std::string& name) {
  if (name == "host") return MemoryId{0};
  if (name.rfind("cuda:", 0) != 0) return std::nullopt;
  unsigned number = 0;
  const char* end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + 5, end, number);
  if (error != std::errc() || at != end || number > 254) return std::nullopt;
  return static_cast<MemoryId>(number + 1);
}

std::map<Instant, replay::Holdings> alive_at(const ProcessAnalysis& analysis,
                                             const std::vector<Instant>& instants) {
  auto sets = replay::alive_at(*analysis.trace, *analysis.keyframes, instants, analysis.account.last_step);
  name_workspaces(sets, *analysis.symbolizer);
  return sets;
}

std::unique_ptr<ProcessAnalysis> analyze_process(std::unique_ptr<trace::Trace> trace, std::string kind,
                                                 ProcessEnd end, const Options& options) {
  auto analysis = std::make_unique<ProcessAnalysis>();
  analysis->trace = std::move(trace);
  analysis->kind = std::move(kind);
  analysis->end = std::move(end);
  analysis->keyframes = std::make_unique<replay::Keyframes>(*analysis->trace);
  first_pass(*analysis, options);
  analysis->after_training = report::after_training(analysis->account, analysis->facts(), analysis->end);
  analysis->buckets = replay::buckets(*analysis->trace, analysis->account);
  analysis->steady = replay::steady(analysis->account);
  analysis->rare_steps = find_rare_steps(analysis->account, analysis->steady, analysis->buckets);
  if (!is_marked(*analysis)) analysis->cycles = replay::find_cycles(*analysis->trace);
  analysis->shown = replay::choose(analysis->account, analysis->buckets, options.steps);
  add_segments(*analysis);
  analysis->losses = analysis->trace->losses(analysis->account.counts);
  const trace::Trace& open = *analysis->trace;
  analysis->symbolizer = std::make_unique<symbols::Symbolizer>(
      open.definitions(), open.facts(), symbols::load_names(symbols::names_file_of(open.path())));
  analysis->sets = alive_at(*analysis, instants(*analysis));
  find_their_blocks(analysis->sets, analysis->rare_steps);
  analysis->reservations = analysis->keyframes->reservations();
  return analysis;
}

} // namespace memtrace::report
