// Purpose: the screen of `memtrace top` as lines of text: a function of the figures and of what the user chose.
#include "analyzer/cli/top/top_screen.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analyzer/cli/top/top_chart.h"
#include "analyzer/cli/top/top_headline.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::cli {
namespace {

using live::LimitNow;
using live::MemoryNow;
using live::ProcessNow;

constexpr std::size_t kWide = 72; // columns from which tables stand side by side
constexpr std::size_t kNarrowest = 40;

std::string padded(const std::string& text, std::size_t width) {
  const std::string shown = report::shortened(text, width);
  return shown + std::string(width - report::columns(shown), ' ');
}

std::string right(const std::string& text, std::size_t width) {
  const std::string shown = report::shortened(text, width);
  return std::string(width - report::columns(shown), ' ') + shown;
}

double most_share(const ProcessNow& process) {
  double most = 0;
  for (const LimitNow& limit : process.limits) most = std::max(most, limit.share());
  return most;
}

double growth_rate(const ProcessNow& process) {
  double most = 0;
  for (const MemoryNow& memory : process.memories) most = std::max(most, memory.per_second);
  return most;
}

std::int64_t live_of(const ProcessNow& process) {
  return process.memories.empty() ? 0 : process.memories[live::leading_memory(process)].live;
}

Style style_of(double share) {
  return share >= 0.97 ? Style::alarm : share >= 0.9 ? Style::warning : Style::plain;
}

// Collects lines, each at most as wide as the screen.
class Page {
 public:
  explicit Page(const TopView& view) : view_(view) {}

  // Returns the columns that tables are made for. A narrower terminal cuts their lines.
  std::size_t columns() const { return std::max(kNarrowest, view_.columns); }
  std::size_t left() const { // rows that are free, without that of the keys
    if (view_.rows == 0) return 1000;
    const std::size_t taken = lines_.size() + (view_.keys ? 1 : 0);
    return view_.rows > taken ? view_.rows - taken : 0;
  }
  void add(ScreenLine line) {
    if (left() == 0) return;
    std::size_t room = view_.columns;
    for (Span& span : line) {
      span.text = report::columns(span.text) <= room ? span.text : cut(span.text, room);
      room -= report::columns(span.text);
    }
    lines_.push_back(std::move(line));
  }
  void add(std::string text, Style style = Style::plain) { add(ScreenLine{{std::move(text), style}}); }
  // Adds the text on up to `most` lines, broken at blanks.
  void wrap(const Span& span, std::size_t most) {
    std::string text = span.text;
    for (std::size_t i = 1; report::columns(text) > view_.columns && i < most; ++i) {
      std::size_t at = text.rfind(' ', view_.columns);
      if (at == std::string::npos || at == 0) break;
      add(text.substr(0, at), span.style);
      text.erase(0, at + 1);
    }
    add(text, span.style);
  }
  void last(const std::string& text) {
    while (lines_.size() + 1 < view_.rows) lines_.emplace_back();
    lines_.push_back(
        {{report::columns(text) <= view_.columns ? text : cut(text, view_.columns), Style::faint}});
  }
  std::vector<ScreenLine> take() && { return std::move(lines_); }

 private:
  static std::string cut(const std::string& text, std::size_t room) {
    std::size_t bytes = 0, seen = 0;
    while (bytes < text.size()) {
      std::size_t next = bytes + 1;
      while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0) == 0x80) ++next;
      if (++seen > room) break;
      bytes = next;
    }
    return text.substr(0, bytes);
  }

  const TopView& view_;
  std::vector<ScreenLine> lines_;
};

void add_title(Page& page, const std::vector<ProcessNow>& processes, const ProcessNow& chosen,
               const TopView& view) {
  std::string what = fmt::format("{}  {}", chosen.script, short_name(chosen));
  if (chosen.rank) what += fmt::format(" pid {}", chosen.pid);
  if (processes.size() > 1) what += fmt::format(" of {} processes", processes.size());
  what += fmt::format("  {}", report::duration(chosen.seconds));
  std::string state = view.paused ? "paused" : "";
  if (chosen.running && chosen.age > 1.5 * view.interval + 1)
    state += fmt::format("{}figures {} old", state.empty() ? "" : ", ", report::duration(chosen.age));
  const std::size_t room = page.columns();
  if (report::columns(what) + 2 + report::columns(state) > room) return page.add({{what, Style::bold}});
  page.add({{what, Style::bold},
            {std::string(room - report::columns(what) - report::columns(state), ' '), Style::plain},
            {state, Style::warning}});
}

void add_state(Page& page, const ProcessNow& process, const MemoryNow& memory) {
  std::string where;
  if (process.step) where = "step " + report::count(static_cast<std::uint64_t>(*process.step));
  if (!process.phase.empty()) where += (where.empty() ? "in " : " in ") + process.phase;
  if (where.empty()) where = "no phase or step is marked";
  if (process.step_seconds > 0) where += fmt::format("   {} a step", report::duration(process.step_seconds));
  const std::string growth = growth_words(memory);
  where += growth.empty() ? "   no growth" : "   " + growth;
  page.wrap({where, Style::plain}, 2);
  std::string levels;
  for (const MemoryNow& one : process.memories) {
    levels += fmt::format("{}{} live {}", levels.empty() ? "" : "   ", one.name, report::size(one.live));
    if (one.tensor > 0) levels += ", tensors " + report::size(one.tensor);
  }
  levels += "   RSS " + report::sized(process.resident);
  if (process.swap > 0) levels += "   swap " + report::sized(process.swap);
  if (process.lost > 0) levels += fmt::format("   {} events lost", report::count(process.lost));
  page.wrap({levels, Style::plain}, 2);
}

std::string short_growth(const ProcessNow& process) {
  if (process.memories.empty()) return "";
  const MemoryNow& memory = process.memories[live::leading_memory(process)];
  if (memory.per_step > 0) return "+" + report::size(memory.per_step);
  const auto per_minute = static_cast<std::int64_t>(60 * memory.per_second);
  return per_minute > 0 ? "+" + report::size(per_minute) + "/m" : "0";
}

std::string process_row(const ProcessNow& one, bool wide) {
  const std::string rank = one.rank ? fmt::format("{}", *one.rank) : "-";
  const std::string phase = one.running ? one.phase : one.end;
  const std::string step = one.step ? report::count(static_cast<std::uint64_t>(*one.step)) : "-";
  const std::string limit = one.limits.empty() ? "-" : fmt::format("{:.0f} %", 100 * most_share(one));
  std::string row = right(rank, 5) + right(fmt::format("{}", one.pid), 9) + "  ";
  if (wide) row += padded(phase, 13);
  row += right(step, 9) + right(report::size(live_of(one)), 12);
  if (wide) row += right(report::sized(one.resident), 12);
  return row + (wide ? right(short_growth(one), 13) : "") + (wide ? right(limit, 6) : "");
}

// Shows a part of the processes around the chosen one, if there are more than rows.
void add_processes(Page& page, const std::vector<ProcessNow>& processes, const std::vector<std::size_t>& order,
                   std::size_t chosen, std::size_t rows) {
  const bool wide = page.columns() >= kWide;
  std::string head = right("rank", 5) + right("pid", 9) + "  ";
  if (wide) head += padded("phase", 13);
  head += right("step", 9) + right("live", 12);
  if (wide) head += right("RSS", 12) + right("a step", 13) + right("limit", 6);
  page.add(head, Style::faint);
  std::size_t first = chosen >= rows ? chosen - rows + 1 : 0;
  for (std::size_t i = first; i < order.size() && i < first + rows; ++i) {
    const ProcessNow& one = processes[order[i]];
    const Style style = i == chosen       ? Style::chosen
                        : one.ended_badly ? Style::alarm
                                          : style_of(most_share(one));
    page.add(process_row(one, wide), style);
  }
  if (order.size() > rows) page.add(fmt::format("  {} more", order.size() - rows), Style::faint);
}

void add_limits(Page& page, const ProcessNow& process, std::size_t most) {
  if (process.limits.empty() || most == 0) return;
  const bool wide = page.columns() >= kWide;
  const std::size_t name = wide ? page.columns() - 12 - 12 - 7 - 12 - 14 : page.columns() - 7 - 12;
  page.add(padded("limit", name) + (wide ? right("used", 12) + right("of", 12) : "") + right("%", 7) +
               (wide ? right("left", 12) : "") + right("full in", wide ? 14 : 12),
           Style::faint);
  for (const LimitNow& limit : process.limits) {
    if (most-- == 0) break;
    const std::string when = limit.full_in && *limit.full_in < kFar ? report::duration(*limit.full_in) : "-";
    page.add(padded(limit.name, name) +
                 (wide ? right(report::sized(limit.used), 12) + right(report::sized(limit.limit), 12) : "") +
                 right(fmt::format("{:.0f}", 100 * limit.share()), 7) +
                 (wide ? right(report::sized(limit.left()), 12) : "") + right(when, wide ? 14 : 12),
             style_of(limit.share()));
  }
}

void add_chart(Page& page, const MemoryNow& memory, std::size_t rows, bool utf8) {
  if (memory.steps.size() < 2 || rows == 0 || page.left() < rows + 1) return;
  const std::size_t first = memory.steps.size() - std::min(memory.steps.size(), page.columns());
  std::vector<std::int64_t> peaks;
  for (std::size_t i = first; i < memory.steps.size(); ++i) peaks.push_back(memory.steps[i].peak);
  const Chart bars = chart(peaks, rows, utf8);
  const auto number = [&](std::size_t i) {
    return report::count(static_cast<std::uint64_t>(memory.steps[i].number));
  };
  page.add(fmt::format("peak of steps {} to {}: {} at the bottom, {} at the top", number(first),
                       number(memory.steps.size() - 1), report::size(bars.low), report::size(bars.high)),
           Style::faint);
  for (const std::string& line : bars.lines) page.add(line);
}

std::string role_row(const live::RoleNow& role, const report::Unit& unit, std::int64_t live,
                     std::size_t width) {
  const double percent = live <= 0 ? 0 : 100 * static_cast<double>(role.bytes) / static_cast<double>(live);
  return padded(role.name, width - 10 - 6) + right(report::in_unit(role.bytes, unit), 10) +
         right(fmt::format("{:.0f}", percent), 6);
}

std::string phase_row(const live::PhaseNow& phase, const report::Unit& unit, std::size_t width) {
  return padded(phase.name, width - 3 * 10) + right(report::in_unit(phase.peak, unit), 10) +
         right(report::signed_in_unit(phase.adds, unit), 10) +
         right(report::in_unit(phase.transient, unit), 10);
}

// Roles and phases, side by side if they fit.
void add_tables(Page& page, const ProcessNow& process, const MemoryNow& memory, std::size_t rows) {
  const bool wide = page.columns() >= kWide;
  const std::size_t gap = wide ? 3 : 0;
  const std::size_t roles = wide ? (page.columns() - gap) * 45 / 100 : page.columns();
  const std::size_t phases = wide ? page.columns() - gap - roles : page.columns();
  std::int64_t largest = memory.live;
  for (const live::PhaseNow& phase : memory.phases) largest = std::max(largest, phase.peak);
  const report::Unit unit = report::unit_for(largest);
  const std::string of =
      (memory.phases_of_tensors ? "tensors, " : "") +
      (process.phases_of < 0 ? "phase"
                             : "step " + report::count(static_cast<std::uint64_t>(process.phases_of)));
  const std::string role_head =
      padded(memory.name + " by role", roles - 16) + right(unit.name, 10) + right("%", 6);
  const std::string phase_head =
      padded(of, phases - 30) + right("peak", 10) + right("adds", 10) + right("transient", 10);
  if (!wide) {
    page.add(role_head, Style::faint);
    for (std::size_t i = 0; i < memory.roles.size() && i < rows; ++i)
      page.add(role_row(memory.roles[i], unit, memory.live, roles));
    if (memory.phases.empty() || page.left() < 3) return;
    page.add(phase_head, Style::faint);
    for (std::size_t i = 0; i < memory.phases.size() && i < rows; ++i)
      page.add(phase_row(memory.phases[i], unit, phases));
    return;
  }
  page.add(role_head + (memory.phases.empty() ? "" : std::string(gap, ' ') + phase_head), Style::faint);
  for (std::size_t i = 0; i < rows && i < std::max(memory.roles.size(), memory.phases.size()); ++i) {
    std::string line =
        i < memory.roles.size() ? role_row(memory.roles[i], unit, memory.live, roles) : std::string(roles, ' ');
    if (i < memory.phases.size()) line += std::string(gap, ' ') + phase_row(memory.phases[i], unit, phases);
    page.add(line);
  }
}

void add_large(Page& page, const MemoryNow& memory, std::size_t rows) {
  if (memory.large.empty() || page.left() < 2) return;
  page.add(
      padded("newest large allocations", 24) + (page.columns() >= kWide ? "   ago        times  where" : ""),
      Style::faint);
  for (const live::LargeNow& one : memory.large) {
    if (rows-- == 0) break;
    const std::string size = right(report::sized(one.bytes), 12);
    if (page.columns() < kWide) {
      page.add(size + "  " + one.site);
      continue;
    }
    const std::string where =
        one.site.empty() ? one.phase : one.site + (one.phase.empty() ? "" : "  " + one.phase);
    page.add(fmt::format("{}{}{}  {}", size, right(report::duration(one.ago), 15),
                         right(report::count(one.times), 16 - 3), where));
  }
}

void add_help(Page& page) {
  for (const char* line :
       {"keys", "  q            quit; the program goes on", "  up, down     choose a process (also k, j)",
        "  s            sort by rank, live bytes, growth, share of a limit",
        "  m            show another memory: the host or a GPU", "  p, space     pause",
        "  r            refresh now", "  ?            this help; any key ends it", "",
        "live: bytes allocated and not freed. RSS: pages in memory.",
        "growth: of the level at the begin of the last steps, or of the last",
        "minutes if the program has no steps.",
        "full in: when a limit is met at the present growth. Of a cgroup or a",
        "machine, the growth of all its processes of the job counts.",
        "used: without what is dropped when memory is short, as page cache is.", "docs/top.md says more."})
    page.add(line);
}

std::size_t memory_index(const ProcessNow& process, const TopView& view) {
  for (std::size_t i = 0; i < process.memories.size(); ++i)
    if (view.memory && process.memories[i].name == *view.memory) return i;
  return live::leading_memory(process);
}

void add_details(Page& page, const ProcessNow& process, const MemoryNow& memory, const TopView& view) {
  const bool all = view.rows == 0;
  add_limits(page, process, all ? 8 : page.left() > 14 ? 3 : page.left() > 8 ? 2 : 1);
  add_chart(page, memory,
            all                ? 4
            : page.left() > 22 ? 4
            : page.left() > 14 ? 2
            : page.left() > 9  ? 1
                               : 0,
            view.utf8);
  const std::size_t rest = page.left();
  const std::size_t large = std::min<std::size_t>(memory.large.size(), rest > 20   ? 8
                                                                       : rest > 10 ? 4
                                                                       : rest > 7  ? 2
                                                                                   : 0);
  const std::size_t below = large == 0 ? 0 : large + 1;
  add_tables(page, process, memory, all ? 12 : rest > below + 1 ? rest - below - 1 : 0);
  add_large(page, memory, all ? 8 : large);
}

} // namespace

std::vector<std::size_t> sorted(const std::vector<ProcessNow>& processes, SortBy sort) {
  std::vector<std::size_t> out(processes.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  const auto by = [&](const auto& figure) {
    std::stable_sort(out.begin(), out.end(),
                     [&](std::size_t a, std::size_t b) { return figure(processes[a]) > figure(processes[b]); });
  };
  std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [](const ProcessNow& one) { return std::pair(one.rank.value_or(~0U), one.pid); };
    return key(processes[a]) < key(processes[b]);
  });
  if (sort == SortBy::live) by(live_of);
  if (sort == SortBy::growth) by(growth_rate);
  if (sort == SortBy::limit) by(most_share);
  by([](const ProcessNow& one) { return one.running ? 1 : 0; }); // the others stand below
  return out;
}

std::vector<ScreenLine> top_screen(const std::vector<ProcessNow>& processes, std::size_t other_jobs,
                                   const TopView& view) {
  Page page(view);
  if (view.help) {
    add_help(page);
    return std::move(page).take();
  }
  const std::vector<std::size_t> order = sorted(processes, view.sort);
  const std::size_t at = order.empty() ? 0 : std::min(view.chosen, order.size() - 1);
  if (!order.empty()) add_title(page, processes, processes[order[at]], view);
  page.wrap(headline(processes), 3);
  if (!order.empty()) {
    const ProcessNow& chosen = processes[order[at]];
    const bool several = order.size() > 1;
    if (several)
      add_processes(page, processes, order, at,
                    view.rows == 0 ? 64 : std::clamp<std::size_t>(view.rows / 4, 2, order.size()));
    if (!chosen.memories.empty()) {
      const MemoryNow& memory = chosen.memories[memory_index(chosen, view)];
      add_state(page, chosen, memory);
      add_details(page, chosen, memory, view);
    }
    if (other_jobs != 0)
      page.add(fmt::format("processes of other jobs that are not shown: {}", other_jobs), Style::faint);
  }
  if (view.keys) page.last("q quit  up/down process  s sort  m memory  p pause  ? help");
  return std::move(page).take();
}

std::string plain_text(const std::vector<ScreenLine>& lines) {
  std::string out;
  for (const ScreenLine& line : lines) {
    std::string text;
    for (const Span& span : line) text += span.text;
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
  return out;
}

} // namespace memtrace::cli
