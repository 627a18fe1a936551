// Purpose: writes a whole report as the text of one JSON value. Only one row, and the sites of one process, are
// in memory as trees.
#include "analyzer/print/json/document.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "analyzer/print/json/finding_json.h"
#include "analyzer/print/json/ledger_json.h"
#include "analyzer/print/json/outlier_json.h"
#include "analyzer/print/json/phase_json.h"
#include "analyzer/print/json/postmortem_json.h"
#include "analyzer/print/json/process_json.h"

namespace memtrace::report {
namespace {

constexpr int kMostAlike = 100;         // sites that differ only in native lines
constexpr std::size_t kPiece = 1 << 20; // bytes: a growing string is copied and is in memory twice meanwhile

} // namespace

// Returns the start of a line. Compact output is one line.
std::string Document::margin(int depth) const {
  return options_.compact ? "" : "\n" + std::string(static_cast<std::size_t>(depth * kIndent), ' ');
}

// Keeps the sites in `value`. In compact output, only their ids stay there. An id covers the functions and the
// Python lines. Sites that differ in more, such as native lines, get ids with a number.
void Document::collect_sites(Json& value) {
  if (value.is_object() && value.contains("id") && value.contains("frames")) {
    const std::string id = value["id"].get<std::string>();
    std::string unique = id;
    for (int number = 2; sites_.try_emplace(unique, value["frames"]).first->second != value["frames"];
         ++number) {
      if (number > kMostAlike) break; // a damaged trace may have any number
      unique = fmt::format("{}.{}", id, number);
    }
    value["id"] = unique;
    if (options_.compact) value.erase("frames");
    return;
  }
  if (value.is_structured())
    for (Json& part : value) collect_sites(part);
}

void Document::put(std::string_view text) {
  if (pieces_.empty() || pieces_.back().size() + text.size() > kPiece) {
    pieces_.emplace_back();
    pieces_.back().reserve(std::min(text.size(), kPiece));
  }
  pieces_.back() += text;
}

// json_text escapes line breaks within strings, so each line break here begins a line of the layout.
void Document::put(const Json& value, int depth) {
  if (options_.compact) return put(json_line(value));
  const std::string text = json_text(value);
  std::size_t from = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', from)) {
    put(std::string_view(text).substr(from, end - from));
    put(margin(depth));
    from = end + 1;
  }
  put(std::string_view(text).substr(from));
}

void Document::put_key(const std::string& key) {
  put(margin(3) + json_text(key) + ": ");
}

// Writes the sites of the process, and forgets them.
void Document::put_sites() {
  put_key("sites");
  Json all = Json::object();
  for (auto& [id, frames] : std::exchange(sites_, {})) all[id] = {{"id", id}, {"frames", std::move(frames)}};
  if (options_.compact) return put(json_line(all) + ",");
  put(all, 3);
  put(",");
}

void Document::add(ProcessAnalysis& analysis, const Findings& findings, const Family* family) {
  const trace::Facts& facts = analysis.facts();
  if (processes_++ == 0) {
    put("{" + margin(1) + "\"schema\": \"" +
        (schema_ == Schema::report ? "memtrace.report/1" : "memtrace.postmortem/1") + "\"," + margin(1) +
        "\"job\": ");
    put({{"id", facts.job},
         {"attempt", facts.attempt},
         {"launcher", facts.launcher.empty() ? Json(nullptr) : Json(facts.launcher)},
         {"world_size", std::max<std::uint32_t>(facts.world_size, 1)}},
        1);
    put("," + margin(1) + "\"processes\": [");
  } else {
    put(",");
  }
  put(margin(2) + "{");
  const auto put_members = [this](const Json& of) {
    for (const auto& [key, value] : of.items()) {
      if (key == "findings") put_sites();
      put_key(key);
      put(value, 3);
      put(",");
    }
  };
  put_members(process_before_phases(analysis));
  put(margin(3) + "\"phases\": [");
  bool first = true;
  each_phase(analysis, options_, [&](const Json& row) {
    Json part = row;
    collect_sites(part);
    put((first ? "" : ",") + margin(4));
    put(part, 4);
    first = false;
  });
  put(first ? "]," : margin(3) + "],");
  Json after = process_after_phases(analysis, findings, options_);
  if (family != nullptr) after["ledger"].push_back(family_json(*family));
  if (schema_ == Schema::postmortem) after["death"] = death_json(analysis, options_.peak_top);
  collect_sites(after); // here, because `sites` comes before the findings
  put_members(after);
  pieces_.back().pop_back(); // the comma after the last member
  put(margin(2) + "}");
}

void Document::add(const JobFinding& found) {
  findings_.push_back(finding_json(found.finding, found.site ? site_json(*found.site) : Json(nullptr)));
}

void Document::add(const Outlier& outlier) {
  outliers_.push_back(outlier_json(outlier));
}

std::vector<std::string> Document::take(const Json& more) && {
  put(margin(1) + "]");
  Json last = {{"findings", std::move(findings_)}, {"outliers", std::move(outliers_)}};
  last.update(more);
  for (const auto& [key, value] : last.items()) {
    put("," + margin(1) + json_text(key) + ": ");
    put(value, 1);
  }
  put("\n}\n");
  return std::move(pieces_);
}

} // namespace memtrace::report
