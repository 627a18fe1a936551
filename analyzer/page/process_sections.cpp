// Purpose: writes the timeline of one process into a page.
#include "analyzer/page/process_sections.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "analyzer/explain/leading_peak.h"
#include "analyzer/explain/workspaces.h"
#include "analyzer/page/block_sections.h"
#include "analyzer/page/moments.h"
#include "analyzer/timeline/timeline.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

using replay::Instant;
using replay::Lane;
using replay::Measure;
using replay::MemoryId;

// Returns the lanes with any bytes: the leading one first.
std::vector<Lane> lanes_of(const ProcessAnalysis& analysis, MemoryId leading) {
  const LeadingPeak leads = leading_peak(analysis, leading);
  std::vector<Lane> out{{leads.memory, leads.measure}};
  for (const auto& [memory, peaks] : analysis.account.peaks)
    for (const Lane& lane : {Lane{memory, Measure::tensor}, Lane{memory, Measure::live}}) {
      const std::int64_t bytes = lane.measure == Measure::tensor ? peaks.tensor.bytes : peaks.live.bytes;
      if (bytes > 0 && lane != out.front()) out.push_back(lane);
    }
  return out;
}

const replay::Peak& peak_of(const ProcessAnalysis& analysis, const Lane& lane) {
  const replay::MemoryPeaks& peaks = analysis.account.peaks.at(lane.memory);
  return lane.measure == Measure::tensor ? peaks.tensor : peaks.live;
}

class ProcessSections {
 public:
  ProcessSections(PageBlock& block, PageTexts& texts, std::size_t number, ProcessAnalysis& analysis)
      : block_(block),
        texts_(texts),
        number_(number),
        prefix_(fmt::format("p{}.", number)),
        analysis_(analysis) {}

  Json add(const Findings& findings, MemoryId leading, const PageDetail& detail) {
    const std::vector<Lane> lanes = lanes_of(analysis_, leading);
    std::vector<Instant> peaks;
    peaks.reserve(lanes.size());
    for (const Lane& lane : lanes) peaks.push_back({lane.memory, lane.measure, peak_of(analysis_, lane).at});
    const Moments moments = moments_of(analysis_, findings, peaks);
    replay::TimelineRequest request{
        .lanes = lanes,
        .interests = moments.interests,
        .instants = {},
        .last_step = analysis_.account.last_step,
        .most_bins = detail.bins,
        .most_rows = detail.rows,
        .is_workspace = [this](format::StackId stack) { return is_workspace(*analysis_.symbolizer, stack); },
        .never_touched =
            [this](const replay::Block& block) { return analysis_.reservations.never_touched(block); }};
    for (const PageMark& mark : moments.marks) request.instants.push_back(mark.instant.at);
    const replay::Timeline timeline = replay::make_timeline(*analysis_.trace, request);
    StackTree tree(*analysis_.symbolizer, texts_);
    add_blocks(block_, prefix_, timeline, BlockNames{analysis_, texts_, tree});
    add_bins(timeline);
    add_steps(timeline);
    tree.write(block_, prefix_);
    Json out = {{"report", number_},
                {"name", script_and_pid(analysis_.facts())},
                {"end", nanoseconds(end_of(timeline))},
                {"events", timeline.rows.blocks},
                {"rows", timeline.rows.rows.size()},
                {"lanes", lanes_json(timeline)},
                {"lines", add_lines(timeline)},
                {"limits", limits_json()},
                {"marks", marks_json(moments.marks, timeline)},
                {"windows", windows_json(timeline)},
                {"keyframes", keyframes_json(timeline)}};
    add_phases(timeline, out);
    return out;
  }

 private:
  // The last row may be 1 ns after the last event (see RowOrder).
  static format::Stamp end_of(const replay::Timeline& timeline) {
    const auto& rows = timeline.rows.rows;
    return std::max(timeline.outline.end, rows.empty() ? 0 : rows.back().stamp);
  }
  static format::Stamp end_of(const replay::Timeline& timeline, const replay::RowSpan& span) {
    const format::Stamp end = timeline.outline.bins.bins()[span.window.last_bin].end;
    return std::max(end, span.rows == 0 ? 0 : timeline.rows.rows[span.first_row + span.rows - 1].stamp);
  }

  std::int64_t nanoseconds(format::Stamp stamp) const {
    const format::Stamp start = analysis_.facts().start_stamp;
    return stamp > start ? static_cast<std::int64_t>(stamp - start) : 0;
  }

  // Returns the time at which a page finds what was alive after an event.
  std::int64_t time_of(const replay::Timeline& timeline, trace::Ordinal at, format::Stamp stamp) const {
    const auto exact = timeline.rows.exact.find(at);
    return nanoseconds(exact == timeline.rows.exact.end() ? stamp : std::max(stamp, exact->second));
  }

  Json lanes_json(const replay::Timeline& timeline) const {
    Json out = Json::array();
    for (const Lane& lane : timeline.lanes) {
      const replay::Peak& peak = peak_of(analysis_, lane);
      out.push_back({{"memory", memory_name(lane.memory)},
                     {"measure", lane.measure == Measure::tensor ? "tensor" : "live"},
                     {"leads", out.empty()},
                     {"peak", {{"bytes", peak.bytes}, {"t", time_of(timeline, peak.at, peak.stamp)}}}});
      if (lane.memory == 0 && lane.measure == Measure::live)
        out.back()["peak"]["reserved"] = untouched(analysis_.set({lane.memory, lane.measure, peak.at}));
    }
    return out;
  }

  void add_bins(const replay::Timeline& timeline) {
    const replay::LevelBins& bins = timeline.outline.bins;
    const std::size_t count = bins.bins().size();
    std::vector<std::int64_t> starts, ends;
    std::vector<std::uint32_t> births, events;
    for (const replay::Bin& bin : bins.bins()) {
      starts.push_back(nanoseconds(bin.start));
      ends.push_back(nanoseconds(bin.end));
      births.push_back(static_cast<std::uint32_t>(bin.births));
      events.push_back(static_cast<std::uint32_t>(bin.changes));
    }
    block_.add(prefix_ + "bin.start", starts, true);
    block_.add(prefix_ + "bin.end", ends, true);
    block_.add(prefix_ + "bin.births", births);
    block_.add(prefix_ + "bin.events", events);
    for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
      std::vector<std::int64_t> max, at, min, last;
      for (std::size_t bin = 0; bin < count; ++bin) {
        const replay::LaneBin& value = bins.of(bin, lane);
        max.push_back(value.max);
        at.push_back(time_of(timeline, value.max_at, value.max_stamp));
        min.push_back(value.min);
        last.push_back(value.last);
      }
      const std::string name = fmt::format("{}lane{}.", prefix_, lane);
      block_.add(name + "max", max, true);
      block_.add(name + "at", at, true);
      block_.add(name + "min", min, true);
      block_.add(name + "last", last, true);
      const auto bands =
          timeline.rows.bands.begin() + static_cast<std::ptrdiff_t>(lane * replay::kBands * count);
      block_.add(name + "bands", {bands, bands + static_cast<std::ptrdiff_t>(replay::kBands * count)}, true);
    }
  }

  void add_steps(const replay::Timeline& timeline) {
    std::vector<std::int64_t> numbers, starts, ends;
    std::vector<std::vector<std::int64_t>> highest(timeline.lanes.size());
    for (const replay::StepMark& mark : timeline.outline.steps.marks()) {
      numbers.push_back(static_cast<std::int64_t>(mark.first));
      starts.push_back(nanoseconds(mark.start));
      ends.push_back(nanoseconds(mark.end));
      for (std::size_t lane = 0; lane < highest.size(); ++lane) highest[lane].push_back(mark.highest[lane]);
    }
    block_.add(prefix_ + "step.number", numbers, true);
    block_.add(prefix_ + "step.start", starts, true);
    block_.add(prefix_ + "step.end", ends, true);
    for (std::size_t lane = 0; lane < highest.size(); ++lane)
      block_.add(fmt::format("{}step.lane{}", prefix_, lane), highest[lane], true);
  }

  // Adds the long phases of the whole run, and all phases in the windows.
  void add_phases(const replay::Timeline& timeline, Json& out) {
    std::vector<replay::PhaseSpan> spans = timeline.outline.phases.spans();
    spans.insert(spans.end(), timeline.rows.phases.begin(), timeline.rows.phases.end());
    std::stable_sort(spans.begin(), spans.end(), [](const replay::PhaseSpan& a, const replay::PhaseSpan& b) {
      return a.start != b.start ? a.start < b.start : a.id < b.id;
    });
    spans.erase(
        std::unique(spans.begin(), spans.end(),
                    [](const replay::PhaseSpan& a, const replay::PhaseSpan& b) { return a.id == b.id; }),
        spans.end());
    std::map<replay::PathId, std::uint32_t> numbers;
    Json paths = Json::array();
    std::vector<std::uint32_t> path;
    std::vector<std::int64_t> step, start, end;
    std::vector<std::uint8_t> depth;
    for (const replay::PhaseSpan& span : spans) {
      const auto [at, is_new] = numbers.try_emplace(span.path, static_cast<std::uint32_t>(numbers.size()));
      const std::vector<std::string> names = timeline.outline.paths.texts(span.path);
      if (is_new) {
        Json shown = Json::array();
        for (const std::string& name : names) shown.push_back(printable(name));
        paths.push_back(std::move(shown));
      }
      path.push_back(at->second);
      step.push_back(static_cast<std::int64_t>(span.step));
      start.push_back(nanoseconds(span.start));
      end.push_back(nanoseconds(span.end));
      depth.push_back(static_cast<std::uint8_t>(std::min<std::size_t>(names.size() - 1, 255)));
    }
    block_.add(prefix_ + "phase.path", path);
    block_.add(prefix_ + "phase.step", step, true);
    block_.add(prefix_ + "phase.start", start, true);
    block_.add(prefix_ + "phase.end", end, true);
    block_.add(prefix_ + "phase.depth", depth);
    out["paths"] = std::move(paths);
    out["phases_from"] = timeline.outline.phases.all_from();
  }

  Json add_lines(const replay::Timeline& timeline) {
    Json out = Json::array();
    const auto add_line = [&](MemoryId memory, const char* name, const replay::MeasuredLine& line) {
      if (line.points().empty()) return;
      std::vector<std::int64_t> time, bytes;
      for (const replay::MeasuredPoint& point : line.points()) {
        time.push_back(nanoseconds(point.stamp));
        bytes.push_back(static_cast<std::int64_t>(point.bytes));
      }
      block_.add(fmt::format("{}line{}.time", prefix_, out.size()), time, true);
      block_.add(fmt::format("{}line{}.bytes", prefix_, out.size()), bytes, true);
      out.push_back({{"memory", memory_name(memory)}, {"name", name}});
    };
    add_line(0, "resident (RSS)", timeline.outline.resident);
    add_line(0, "charge of the cgroup", timeline.outline.charge);
    for (const auto& [memory, line] : timeline.outline.used)
      add_line(memory, "used, as the GPU reports it", line);
    return out;
  }

  Json limits_json() const {
    Json out = Json::array();
    std::optional<std::uint64_t> lowest;
    for (const trace::SampledCgroup& group : analysis_.trace->samples().groups())
      if (!group.left && group.last && group.last->limit != trace::kNotSaid)
        lowest = std::min(lowest.value_or(group.last->limit), group.last->limit);
    if (lowest) out.push_back({{"memory", "host"}, {"name", "limit of the cgroup"}, {"bytes", *lowest}});
    if (const auto& machine = analysis_.trace->samples().machine();
        machine && machine->total != trace::kNotSaid)
      out.push_back({{"memory", "host"}, {"name", "memory of the machine"}, {"bytes", machine->total}});
    for (const auto& [memory, device] : analysis_.facts().devices)
      if (device.total != 0)
        out.push_back({{"memory", memory_name(static_cast<MemoryId>(memory))},
                       {"name", "memory of the GPU"},
                       {"bytes", device.total}});
    return out;
  }

  Json marks_json(const std::vector<PageMark>& marks, const replay::Timeline& timeline) const {
    Json out = Json::array();
    for (const PageMark& mark : marks) {
      const auto stamp = timeline.outline.stamps.find(mark.instant.at);
      const auto lane = std::find(timeline.lanes.begin(), timeline.lanes.end(),
                                  Lane{mark.instant.memory, mark.instant.measure});
      out.push_back(
          {{"t", stamp == timeline.outline.stamps.end() ? 0 : time_of(timeline, stamp->first, stamp->second)},
           {"kind", mark.kind},
           {"text", printable(mark.text)},
           {"finding", mark.finding ? Json(*mark.finding) : Json(nullptr)},
           {"lane", lane == timeline.lanes.end() ? Json(nullptr) : Json(lane - timeline.lanes.begin())}});
    }
    return out;
  }

  Json windows_json(const replay::Timeline& timeline) const {
    Json out = Json::array();
    for (const replay::RowSpan& span : timeline.rows.spans) {
      const auto& bins = timeline.outline.bins.bins();
      out.push_back({{"from", nanoseconds(bins[span.window.first_bin].start)},
                     {"to", nanoseconds(end_of(timeline, span))},
                     {"why", span.window.why},
                     {"first", span.first_row},
                     {"rows", span.rows},
                     {"set", span.set},
                     {"levels", timeline.rows.sets[span.set].levels}});
    }
    return out;
  }

  // The sets that belong to no window are keyframes.
  Json keyframes_json(const replay::Timeline& timeline) const {
    std::set<std::size_t> of_windows;
    for (const replay::RowSpan& span : timeline.rows.spans) of_windows.insert(span.set);
    const replay::LevelBins& bins = timeline.outline.bins;
    Json out = Json::array();
    for (std::size_t bin = 0; bin < bins.bins().size(); ++bin) {
      const replay::LaneBin& top = bins.of(bin, 0);
      const auto set =
          std::lower_bound(timeline.rows.sets.begin(), timeline.rows.sets.end(), top.max_at,
                           [](const replay::LiveSet& one, trace::Ordinal at) { return one.at < at; });
      if (set == timeline.rows.sets.end() || set->at != top.max_at) continue;
      const auto number = static_cast<std::size_t>(set - timeline.rows.sets.begin());
      if (of_windows.contains(number)) continue;
      out.push_back({{"t", nanoseconds(top.max_stamp)}, {"set", number}, {"levels", set->levels}});
    }
    return out;
  }

  PageBlock& block_;
  PageTexts& texts_;
  std::size_t number_; // of the process, on the page and in the report
  std::string prefix_;
  ProcessAnalysis& analysis_;
};

} // namespace

Json add_process(PageBlock& block, PageTexts& texts, std::size_t number, ProcessAnalysis& analysis,
                 const Findings& findings, MemoryId leading, const PageDetail& detail) {
  return ProcessSections(block, texts, number, analysis).add(findings, leading, detail);
}

} // namespace memtrace::report
