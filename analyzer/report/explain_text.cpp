// Room: report.
// Job: bytes per parameter as people read them, and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "analyzer/report/explain.h"
#include "analyzer/report/lines.h"
#include "analyzer/report/text.h"
#include "analyzer/report/units.h"
#include "analyzer/report/utf8.h"
#include "analyzer/report/words.h"

namespace memtrace::report {
namespace {

constexpr std::size_t kTransients = 5;

std::string theory(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "-";
}

class Text {
 public:
  Text(const Explanation& from, bool color)
      : from_(from), unit_(unit_for(static_cast<std::int64_t>(from.kept_bytes()))), lines_(color) {}

  std::string write(std::optional<std::uint64_t> project) {
    head();
    lines_.plain("");
    lines_.faint(fmt::format("{:<18} {:>9} {:>9} {:>8} {:>7}  {:<11} site ({})", "", "asked", "resident",
                             "B/param", "theory", "since", unit_.name));
    for (const KeptRow& row : from_.kept) write_row(row);
    std::uint64_t asked = 0;
    for (const KeptRow& row : from_.kept) asked += row.asked;
    figures("kept", asked, from_.kept_bytes(), theory(from_.theory), "", "");
    transients();
    for (const PartOfStep& part : from_.parts)
      lines_.plain(printable(fmt::format("{} in step {}: {:+.2f} kept, {:.2f} meanwhile", part.name,
                                         static_cast<std::int64_t>(part.step), from_.per_parameter(part.kept),
                                         from_.per_parameter(part.transient))));
    if (from_.pinned_idle != 0)
      lines_.paragraph("",
                       fmt::format("in the cache of PyTorch's pinned allocator and in no tensor: {} = {:.2f}",
                                   sized(from_.pinned_idle), per(from_.pinned_idle)));
    lines_.paragraph("", fmt::format("not per parameter: {} live beside (Python, libraries, small blocks)",
                                     sized(from_.beside)));
    lines_.plain(fmt::format("{:<18} {:>9} {:>9} {:>8.2f}", "unaccounted", "",
                             in_unit(from_.unaccounted, unit_), from_.per_parameter(from_.unaccounted)));
    if (project) projection(*project);
    return lines_.take();
  }

 private:
  double per(std::uint64_t bytes) const { return from_.per_parameter(bytes); }

  // Behind the sum, what makes the difference to theory.
  void head() {
    std::string text = fmt::format("{:.2f} bytes per parameter kept", per(from_.kept_bytes()));
    if (from_.theory) {
      text += fmt::format(", theory {:.2f}", *from_.theory);
      std::map<std::string, double> over;
      for (const KeptRow& row : from_.kept) over[row.name] += per(row.resident) - row.theory.value_or(0);
      std::string more;
      for (const auto& [name, bytes] : over)
        if (std::abs(bytes) >= 0.05)
          more += fmt::format("{} {:+.2f} {}", more.empty() ? ":" : ",", bytes, name);
      text += more;
    }
    lines_.strong(printable(text));
    const trace::Facts& facts = from_.view->facts();
    lines_.plain(fmt::format("{} pid {}  {}  after step {}", script(facts), facts.pid,
                             memory_name(from_.memory), static_cast<std::int64_t>(from_.step)));
    lines_.paragraph("", printable("Setup seen: " + from_.setup));
    lines_.plain(fmt::format("P = {}: 1 B/param = {}", count(from_.parameters), sized(from_.parameters)));
  }

  std::string site(const KeptRow& row) const {
    if (row.stack == format::StackId{}) return "-";
    std::string out = from_.view->symbolizer->site(row.stack).title();
    if (row.sites > 1) out = fmt::format("{} sites, most: {}", row.sites, out);
    return out;
  }

  void figures(const std::string& name, std::uint64_t asked, std::uint64_t bytes, const std::string& in_theory,
               const std::string& since, const std::string& where) {
    lines_.plain(fmt::format("{} {:>9} {:>9} {:>8.2f} {:>7}  {} {}", pad(shortened(printable(name), 18), 18),
                             in_unit(static_cast<std::int64_t>(asked), unit_),
                             in_unit(static_cast<std::int64_t>(bytes), unit_), per(bytes), in_theory,
                             pad(shortened(printable(since), 11), 11),
                             shortened(printable(where), kColumns - 70)));
  }

  void write_row(const KeptRow& row) {
    const bool live = row.state == KeptRow::State::live;
    figures(row.name, row.asked, row.resident, theory(row.theory), live ? when(row.phase, row.step) : "freed",
            live ? site(row) : "not given back to the kernel");
    const std::uint64_t least = std::max<std::uint64_t>(row.bytes / 100, from_.parameters / 100);
    if (row.bytes > row.resident + least)
      lines_.plain(fmt::format("  of {} given, {} never came into memory", sized(row.bytes),
                               sized(row.bytes - row.resident)));
    if (row.late > row.resident / 2)
      lines_.plain(printable(fmt::format("  ! {} of it came into memory only in {}", sized(row.late),
                                         when(row.late_phase, row.late_step))));
  }

  void transients() {
    for (std::size_t i = 0; i < std::min(kTransients, from_.transient.size()); ++i) {
      const KeptRow& row = from_.transient[i];
      lines_.paragraph("",
                       printable(fmt::format("transient: {} {} = {:+.2f} in {}, alive {}: {}", row.name,
                                             sized(row.resident), per(row.resident), when(row.phase, row.step),
                                             duration(static_cast<double>(row.lifetime) / 1e9), site(row))));
    }
  }

  void projection(std::uint64_t project) {
    const double each = per(from_.kept_bytes());
    std::string text = fmt::format("--project {}: {} kept", count(project),
                                   gigabytes(static_cast<std::uint64_t>(each * static_cast<double>(project))));
    if (from_.theory)
      text += fmt::format(" instead of {}",
                          gigabytes(static_cast<std::uint64_t>(*from_.theory * static_cast<double>(project))));
    lines_.paragraph("", text);
  }

  const Explanation& from_;
  Unit unit_;
  Lines lines_;
};

const char* state_name(KeptRow::State state) {
  switch (state) {
    case KeptRow::State::live:
      return "live";
    case KeptRow::State::kept_by_malloc:
      return "kept_by_malloc";
    case KeptRow::State::freed:
      break;
  }
  return "freed";
}

Json step_json(fold::Step step) {
  return step == fold::Step::none ? Json(nullptr) : Json(static_cast<std::int64_t>(step));
}

Json late_json(const KeptRow& row) {
  if (row.late == 0) return nullptr;
  return {{"bytes", row.late}, {"phase", valid_utf8(row.late_phase)}, {"step", step_json(row.late_step)}};
}

Json row_of(const Explanation& from, const KeptRow& row, bool kept) {
  return {{"name", row.name},
          {"memory", memory_name(from.memory)},
          {"role", fold::role_name(row.role)},
          {"kind", format::kKindNames[static_cast<std::size_t>(row.kind)]},
          {"asked", row.asked},
          {"bytes", row.bytes},
          {"resident", row.resident},
          {"came_later", late_json(row)},
          {"per_parameter", from.per_parameter(row.resident)},
          {"theory", row.theory ? Json(*row.theory) : Json(nullptr)},
          {"kept", kept},
          {"state", state_name(row.state)},
          {"phase", valid_utf8(row.phase)},
          {"step", step_json(row.step)},
          {"site", site_json(*from.view, row.stack)}};
}

Json rows_of(const Explanation& from) {
  Json rows = Json::array();
  for (const KeptRow& row : from.kept) rows.push_back(row_of(from, row, true));
  for (const KeptRow& row : from.transient) rows.push_back(row_of(from, row, false));
  return rows;
}

} // namespace

Json rows_json(View& view) {
  Json out = Json::array();
  if (!view.account.last_update || !view.facts().parameters || view.facts().parameters->count == 0) return out;
  for (const auto& [memory, peaks] : view.account.peaks) {
    if (peaks.tensor.bytes <= 0) continue;
    for (Json& row : rows_of(explain(view, memory, std::nullopt))) out.push_back(std::move(row));
  }
  return out;
}

std::string explain_text(const Explanation& explanation, std::optional<std::uint64_t> project, bool color) {
  return Text(explanation, color).write(project);
}

Json explain_json(const Explanation& from, std::optional<std::uint64_t> project) {
  Json parts = Json::array();
  for (const PartOfStep& part : from.parts)
    parts.push_back({{"name", valid_utf8(part.name)},
                     {"step", static_cast<std::int64_t>(part.step)},
                     {"kept", from.per_parameter(part.kept)},
                     {"transient", from.per_parameter(part.transient)}});
  Json dtypes = Json::object();
  for (const auto& [name, count] : from.view->facts().parameters_by_dtype) dtypes[valid_utf8(name)] = count;
  const auto optimizer = from.view->facts().note("optimizer");
  const double kept = from.per_parameter(from.kept_bytes());
  Json out = {{"schema", "memtrace.explain/1"},
              {"parameters", {{"count", from.parameters}, {"by_dtype", std::move(dtypes)}}},
              {"setup",
               {{"optimizer", optimizer ? Json(valid_utf8(*optimizer)) : Json(nullptr)},
                {"memory", memory_name(from.memory)},
                {"after_step", static_cast<std::int64_t>(from.step)}}},
              {"kept", kept},
              {"theory", from.theory ? Json(*from.theory) : Json(nullptr)},
              {"rows", rows_of(from)},
              {"parts_of_step", std::move(parts)},
              {"not_per_parameter", from.beside},
              {"kept_by_pinned_cache", from.pinned_idle},
              {"unaccounted", from.per_parameter(from.unaccounted)}};
  if (project) out["project"] = {{"parameters", *project}, {"bytes", kept * static_cast<double>(*project)}};
  return out;
}

} // namespace memtrace::report
