// Purpose: the figure of a budget in a report, and the lines of the program that hold it.
#include "analyzer/budget/measured.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace memtrace::budget {
namespace {

std::string place_of(const Json& phase, const Json& step) {
  std::string out = text_of(phase);
  if (out == "step") out = "update";
  if (step.is_number_integer()) out += fmt::format(" {}", step.get<std::int64_t>());
  return out;
}

// Returns the whole site: the rows of a compact report have only its id.
const Json& whole_site(const Json& process, const Json& site) {
  return member(site, "frames").is_array()
             ? site
             : member(member(process, "sites"), text_of(member(site, "id")).c_str());
}

// Returns the frame that a person looks for: the innermost one of their own code, else of Python, else any.
// Null if the site has no frames.
const Json& line_of(const Json& site) {
  static const Json nothing;
  const Json* best = &nothing;
  int rank = 0;
  for (const Json& frame : member(site, "frames")) {
    const int of = member(frame, "own") == true ? 3 : member(frame, "lang") == "python" ? 2 : 1;
    if (of <= rank) continue;
    best = &frame;
    rank = of;
  }
  return *best;
}

class Holders {
 public:
  explicit Holders(const Json& process) : process_(process) {}
  void add(const Json& site, std::int64_t bytes) {
    const Json& frame = line_of(whole_site(process_, site));
    Holder& holder = by_line_[{text_of(member(frame, "file")), number_of(member(frame, "line"))}];
    if (holder.function.empty()) holder.function = text_of(member(frame, "function"));
    holder.bytes += bytes;
  }
  void add_rows(const Json& rows) {
    for (const Json& row : rows)
      add(member(row, "site"), number_of(member(row, "bytes")) - number_of(member(row, "untouched")));
  }
  std::vector<Holder> largest() && {
    constexpr std::size_t kShown = 3;
    std::vector<Holder> out;
    for (auto& [line, holder] : by_line_) {
      if (line.first.empty()) continue;
      std::tie(holder.file, holder.line) = line;
      out.push_back(std::move(holder));
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
    if (out.size() > kShown) out.resize(kShown);
    return out;
  }

 private:
  const Json& process_;
  std::map<std::pair<std::string, std::int64_t>, Holder> by_line_;
};

// Returns the bytes without reservations that were never touched, as the report's headline and table count.
std::int64_t used_of(const Json& of) {
  return number_of(member(of, "bytes")) - number_of(member(of, "reserved_untouched"));
}

Measured peak_in(const Json& process, const MemoryBudget& budget) {
  Measured out;
  for (const Json& peak : member(process, "peaks")) {
    if (member(peak, "memory") != budget.memory || member(peak, "measure") != budget.measure) continue;
    out.known = true;
    out.figure = used_of(peak);
    out.place = place_of(member(peak, "phase"), member(peak, "step"));
    Holders holders(process);
    holders.add_rows(member(peak, "at_peak"));
    out.holders = std::move(holders).largest();
  }
  return out;
}

// Returns the holders of a phase in a step, or nothing if the report has no row for it.
std::vector<Holder> holders_in(const Json& process, const MemoryBudget& budget, const Json& step) {
  Holders holders(process);
  for (const Json& row : member(process, "phases"))
    if (member(row, "memory") == budget.memory && path_of(row) == budget.phase && member(row, "step") == step)
      holders.add_rows(member(budget.measure == "tensor" ? member(row, "tensor") : row, "at_peak"));
  return std::move(holders).largest();
}

Measured phase_in(const Json& process, const MemoryBudget& budget) {
  Measured out;
  for (const Json& peak : member(process, "phase_peaks")) {
    if (member(peak, "memory") != budget.memory || path_of(peak) != budget.phase) continue;
    const Json& of = member(peak, budget.measure.c_str());
    out.known = true;
    out.figure = used_of(of);
    out.place = place_of(budget.phase, member(of, "step"));
    out.holders = holders_in(process, budget, member(of, "step"));
  }
  return out;
}

bool has_memory(const Json& process, const std::string& memory) {
  const Json& peaks = member(process, "peaks");
  return std::any_of(peaks.begin(), peaks.end(),
                     [&memory](const Json& peak) { return member(peak, "memory") == memory; });
}

// The growth of each step and that of each event count together: both go on for as long as the program runs.
Measured leak_in(const Json& process, const MemoryBudget& budget) {
  Measured out;
  out.known = has_memory(process, budget.memory);
  Holders holders(process);
  for (const Json& finding : member(process, "findings")) {
    const std::string id = text_of(member(finding, "id"));
    if (id != "leak-per-step" && id != "leak-per-event") continue;
    if (member(finding, "memory") != budget.memory) continue;
    const std::int64_t bytes = number_of(member(finding, "bytes"));
    out.figure += bytes;
    const std::string each = id == "leak-per-step" ? "each step" : "each event";
    out.place = out.place.empty() || out.place == each ? each : "each step and event";
    holders.add(member(finding, "site"), bytes);
  }
  out.holders = std::move(holders).largest();
  return out;
}

std::string name_of(const Json& process) {
  std::string out = fmt::format("pid {}", number_of(member(process, "pid")));
  const Json& rank = member(process, "rank");
  return rank.is_number_integer() ? fmt::format("{}, rank {}", out, rank.get<std::int64_t>()) : out;
}

Measured measure_process(const Json& process, const MemoryBudget& budget) {
  switch (budget.quantity) {
    case Quantity::peak:
      return peak_in(process, budget);
    case Quantity::phase:
      return phase_in(process, budget);
    case Quantity::leak:
      return leak_in(process, budget);
    case Quantity::findings:
      break;
  }
  return {};
}

Measured count_findings(const Json& report) {
  Measured out;
  out.known = true;
  const auto add = [&out](const Json& of) { // the whole report, or a process
    for (const Json& finding : member(of, "findings")) {
      const Json& frame = line_of(whole_site(of, member(finding, "site")));
      ++out.figure;
      out.holders.push_back({text_of(member(frame, "file")), text_of(member(finding, "id")),
                             number_of(member(frame, "line")), number_of(member(finding, "bytes"))});
    }
  };
  add(report);
  for (const Json& process : member(report, "processes")) add(process);
  return out;
}

} // namespace

Measured measure(const Json& report, const MemoryBudget& budget) {
  if (budget.quantity == Quantity::findings) return count_findings(report);
  Measured out;
  for (const Json& process : member(report, "processes")) {
    Measured one = measure_process(process, budget);
    if (!one.known || (out.known && one.figure <= out.figure)) continue;
    out = std::move(one);
    out.process = name_of(process);
  }
  return out;
}

std::string known_names(const Json& report, const MemoryBudget& budget) {
  std::set<std::string> names;
  for (const Json& process : member(report, "processes")) {
    if (budget.quantity == Quantity::phase && has_memory(process, budget.memory)) {
      for (const Json& peak : member(process, "phase_peaks")) names.insert(path_of(peak));
      continue;
    }
    for (const Json& peak : member(process, "peaks")) {
      const std::string memory = text_of(member(peak, "memory"));
      names.insert(memory == budget.memory ? fmt::format("{}, {}", memory, text_of(member(peak, "measure")))
                                           : memory);
    }
  }
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : "; ") + name;
  return out;
}

} // namespace memtrace::budget
