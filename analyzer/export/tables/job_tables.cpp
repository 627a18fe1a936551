// Purpose: writes the figures of a job as the tables of a database.
#include "analyzer/export/tables/job_tables.h"

#include <map>

#include "analyzer/calltree/shown_frames.h"
#include "analyzer/export/tables/job_rows.h"
#include "analyzer/export/tables/table_layout.h"
#include "analyzer/print/json/ledger_json.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::report {
namespace {

constexpr std::size_t kLevelIntervals = 4096; // at most 3 points for each, for each series

// Writes the stacks that other tables name, each once.
class StackRows {
 public:
  StackRows(DatabaseFile& file, ProcessAnalysis& analysis, std::int64_t process, std::int64_t& frames,
            std::int64_t& stacks)
      : analysis_(analysis),
        process_(process),
        first_frame_(frames),
        frames_(frames),
        stacks_(stacks),
        frame_rows_(file, "frames", 7),
        stack_rows_(file, "stacks", 4),
        link_rows_(file, "stack_frames", 3) {}

  // Returns the number of the stack; nullopt: no stack.
  std::optional<std::int64_t> id(format::StackId stack) {
    if (stack == format::StackId{}) return std::nullopt;
    const auto [at, fresh] = ids_.try_emplace(stack, stacks_);
    if (fresh) write(stack, stacks_++);
    return at->second;
  }

 private:
  void write(format::StackId stack, std::int64_t number) {
    const symbols::Site& site = analysis_.symbolizer->site(stack);
    stack_rows_.row(number, process_, site.line(), site.title());
    std::int64_t depth = 0;
    for (const symbols::SiteFrame& frame : site.frames) {
      const std::size_t known = table_.size();
      const std::int64_t id = first_frame_ + table_.add(frame);
      if (table_.size() != known) {
        frame_rows_.row(id, process_, frame.function, frame.file, frame.line, frame.module,
                        frame.python ? "python" : "native");
        ++frames_;
      }
      link_rows_.row(number, depth++, id);
    }
  }

  ProcessAnalysis& analysis_;
  const std::int64_t process_;
  const std::int64_t first_frame_;
  std::int64_t& frames_;
  std::int64_t& stacks_;
  FrameTable table_;
  std::map<format::StackId, std::int64_t> ids_;
  RowInsert frame_rows_;
  RowInsert stack_rows_;
  RowInsert link_rows_;
};

// Writes what was alive at each peak. The rows add up to the peak: the last one has what has no record.
class PeakTable {
 public:
  PeakTable(DatabaseFile& file, ProcessAnalysis& analysis, std::int64_t process, std::int64_t& peaks,
            StackRows& stacks)
      : analysis_(analysis),
        process_(process),
        peaks_(peaks),
        stacks_(stacks),
        peak_rows_(file, "peaks", 10),
        holding_rows_(file, "holdings", 13) {}

  void write() {
    for (const auto& [memory, peaks] : analysis_.account.peaks) {
      const bool tensors = leading_peak(analysis_, memory).measure == replay::Measure::tensor;
      peak(memory, replay::Measure::live, peaks.live, !tensors);
      peak(memory, replay::Measure::tensor, peaks.tensor, tensors);
      if (peaks.reserved) row(memory, "reserved", *peaks.reserved, 0, false);
      const auto gpu = analysis_.account.device_usage.find(memory);
      if (gpu != analysis_.account.device_usage.end()) row(memory, "used", *gpu->second.peak, 0, false);
      if (memory == 0 && analysis_.account.rss) row(memory, "rss", *analysis_.account.rss, 0, false);
    }
  }

 private:
  void row(replay::MemoryId memory, const char* measure, const replay::Peak& peak, std::uint64_t untouched,
           bool leads) {
    const double t = peak.bucket ? kNoTime : analysis_.seconds(peak.stamp);
    peak_rows_.row(peaks_++, process_, memory_name(memory), measure, peak.bytes, untouched, t,
                   analysis_.account.paths.text(analysis_.account.paths.last(peak.path)),
                   step_number(peak.step), leads);
  }

  void peak(replay::MemoryId memory, replay::Measure measure, const replay::Peak& peak, bool leads) {
    static const replay::Holdings kUnknown; // the events of this peak were dropped
    const replay::Holdings& alive = peak.bucket ? kUnknown : analysis_.set({memory, measure, peak.at});
    const std::int64_t number = peaks_;
    row(memory, measure == replay::Measure::tensor ? "tensor" : "live", peak, untouched(alive), leads);
    std::uint64_t told = 0;
    for (const replay::Holding& one : alive) {
      told += one.bytes;
      holding_rows_.row(number, stacks_.id(one.stack), one.bytes, one.untouched, one.asked, one.blocks,
                        format::kKindNames[static_cast<std::size_t>(one.kind)], replay::role_name(one.role),
                        analysis_.account.paths.text(one.born_phase), step_number(one.born_step),
                        static_cast<double>(one.lifetime) / 1e9, one.sampled ? "sampled" : "measured",
                        one.error);
    }
    if (const std::int64_t rest = replay::wrapping_sub(peak.bytes, told); rest != 0)
      holding_rows_.row(number, nullptr, rest, 0, 0, 0, "heap", "unknown", nullptr, nullptr, nullptr,
                        "measured", 0);
  }

  ProcessAnalysis& analysis_;
  const std::int64_t process_;
  std::int64_t& peaks_;
  StackRows& stacks_;
  RowInsert peak_rows_;
  RowInsert holding_rows_;
};

void write_process(DatabaseFile& file, const ProcessAnalysis& analysis, std::int64_t process) {
  const trace::Facts& facts = analysis.facts();
  std::optional<std::int64_t> rank;
  if (facts.rank != trace::kNoRank) rank = facts.rank;
  RowInsert row(file, "processes", 13);
  identity_values(analysis, [&](const auto&... identity) {
    course_values(analysis, [&](const auto&... course) { row.row(process, identity..., rank, course...); });
  });
}

void write_phases(DatabaseFile& file, const ProcessAnalysis& analysis, std::int64_t process) {
  RowInsert rows(file, "phases", 19);
  for (const replay::Row& row : analysis.account.rows) {
    const std::string phase = analysis.account.paths.texts(row.path).back();
    for (const auto& [memory, peaks] : analysis.account.peaks) {
      const std::string name = memory_name(memory);
      phase_values(row, memory, [&](const auto&... values) {
        rows.row(process, name, analysis.phase_name(row.path), phase, step_number(row.step), values...);
      });
    }
  }
}

void write_ledgers(DatabaseFile& file, const ProcessAnalysis& analysis, std::int64_t process,
                   std::int64_t& number) {
  RowInsert ledgers(file, "ledgers", 9);
  RowInsert rows(file, "ledger_rows", 4);
  for (const Json& ledger : ledgers_json(analysis, {})) {
    const double t = ledger.contains("t") ? ledger["t"].get<double>() : kNoTime;
    ledgers.row(number, process, ledger["scope"].get<std::string>(), ledger["memory"].get<std::string>(),
                ledger["at"].get<std::string>(), t, ledger["total"].get<std::int64_t>(),
                ledger["high_water"].get<std::int64_t>(), ledger["residual"].get<std::int64_t>());
    for (const Json& row : ledger["rows"])
      rows.row(number, row["name"].get<std::string>(), row["bytes"].get<std::int64_t>(),
               row["how"].get<std::string>());
    ++number;
  }
}

void write_findings(DatabaseFile& file, const Findings& findings, std::int64_t process, StackRows& stacks) {
  RowInsert rows(file, "findings", 13);
  for (const Finding& one : findings)
    finding_values(one, [&](const auto&... values) { rows.row(process, values..., stacks.id(one.site)); });
}

void write_levels(DatabaseFile& file, const ProcessAnalysis& analysis, std::int64_t process) {
  RowInsert rows(file, "levels", 5);
  level_values(analysis, kLevelIntervals, [&](const auto&... values) { rows.row(process, values...); });
}

} // namespace

JobTables::JobTables(const std::string& path) : file_(path) {
  file_.run(kTableLayout);
}

void JobTables::add(ProcessAnalysis& analysis, const Findings& findings) {
  const std::int64_t process = processes_++;
  if (process == 0) {
    RowInsert meta(file_, "meta", 2);
    meta.row("schema", "memtrace.sqlite/1");
    meta.row("job", analysis.facts().job);
  }
  write_process(file_, analysis, process);
  StackRows stacks(file_, analysis, process, frames_, stacks_);
  PeakTable(file_, analysis, process, peaks_, stacks).write();
  write_phases(file_, analysis, process);
  write_ledgers(file_, analysis, process, ledgers_);
  write_findings(file_, findings, process, stacks);
  write_levels(file_, analysis, process);
}

void JobTables::finish() {
  file_.run(kViewLayout);
  file_.finish();
}

} // namespace memtrace::report
