// Purpose: writes a whole report as the text of one JSON value. Only one row, and the sites of one process, are
// in memory as trees.
#include "analyzer/print/json/document.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
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
constexpr std::size_t kPiece = 1 << 20; // bytes

// Writes the object of one process.
class ProcessObject {
 public:
  explicit ProcessObject(const Options& options) : options_(options), text_(options.compact) {}
  std::vector<std::string> write(ProcessAnalysis& analysis, const Findings& findings, Schema schema,
                                 const Family* family);

 private:
  void put_sites();
  void put_members(const Json& of);
  void collect_sites(Json& value);

  const Options& options_;
  JsonPieces text_;
  std::map<std::string, Json> sites_; // by id: their frames
};

// Keeps the sites in `value`. In compact output, only their ids stay there. An id covers the functions and the
// Python lines. Sites that differ in more, such as native lines, get ids with a number.
void ProcessObject::collect_sites(Json& value) {
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

// Writes the sites of the process, and forgets them.
void ProcessObject::put_sites() {
  text_.put_key("sites");
  Json all = Json::object();
  for (auto& [id, frames] : std::exchange(sites_, {})) all[id] = {{"id", id}, {"frames", std::move(frames)}};
  if (options_.compact) return text_.put(json_line(all) + ",");
  text_.put(all, 3);
  text_.put(",");
}

void ProcessObject::put_members(const Json& of) {
  for (const auto& [key, value] : of.items()) {
    if (key == "findings") put_sites();
    text_.put_key(key);
    text_.put(value, 3);
    text_.put(",");
  }
}

std::vector<std::string> ProcessObject::write(ProcessAnalysis& analysis, const Findings& findings,
                                              Schema schema, const Family* family) {
  text_.put(text_.margin(2) + "{");
  put_members(process_before_phases(analysis));
  text_.put(text_.margin(3) + "\"phases\": [");
  bool first = true;
  each_phase(analysis, options_, [&](const Json& row) {
    Json part = row;
    collect_sites(part);
    text_.put((first ? "" : ",") + text_.margin(4));
    text_.put(part, 4);
    first = false;
  });
  text_.put(first ? "]," : text_.margin(3) + "],");
  Json after = process_after_phases(analysis, findings, options_);
  if (family != nullptr) after["ledger"].push_back(family_json(*family));
  if (schema == Schema::postmortem) after["death"] = death_json(analysis, options_.peak_top);
  collect_sites(after); // here, because `sites` comes before the findings
  put_members(after);
  text_.drop_last(); // the comma after the last member
  text_.put(text_.margin(2) + "}");
  return text_.take();
}

} // namespace

std::string JsonPieces::margin(int depth) const {
  return compact_ ? "" : "\n" + std::string(static_cast<std::size_t>(depth * kIndent), ' ');
}

void JsonPieces::put(std::string_view text) {
  if (pieces_.empty() || pieces_.back().size() + text.size() > kPiece) {
    pieces_.emplace_back();
    pieces_.back().reserve(std::min(text.size(), kPiece));
  }
  pieces_.back() += text;
}

// json_text escapes line breaks within strings, so each line break here begins a line of the layout.
void JsonPieces::put(const Json& value, int depth) {
  if (compact_) return put(json_line(value));
  const std::string text = json_text(value);
  std::size_t from = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', from)) {
    put(std::string_view(text).substr(from, end - from));
    put(margin(depth));
    from = end + 1;
  }
  put(std::string_view(text).substr(from));
}

void JsonPieces::put_key(const std::string& key) {
  put(margin(3) + json_text(key) + ": ");
}

std::vector<std::string> process_pieces(ProcessAnalysis& analysis, const Findings& findings,
                                        const Options& options, Schema schema, const Family* family) {
  return ProcessObject(options).write(analysis, findings, schema, family);
}

void Document::add(ProcessAnalysis& analysis, const Findings& findings, const Family* family) {
  add(analysis.facts(), process_pieces(analysis, findings, options_, schema_, family));
}

void Document::add(const trace::Facts& facts, const std::vector<std::string>& process) {
  if (processes_++ == 0) {
    text_.put("{" + text_.margin(1) + "\"schema\": \"" +
              (schema_ == Schema::report ? "memtrace.report/1" : "memtrace.postmortem/1") + "\"," +
              text_.margin(1) + "\"job\": ");
    text_.put({{"id", facts.job},
               {"attempt", facts.attempt},
               {"launcher", facts.launcher.empty() ? Json(nullptr) : Json(facts.launcher)},
               {"world_size", std::max<std::uint32_t>(facts.world_size, 1)}},
              1);
    text_.put("," + text_.margin(1) + "\"processes\": [");
  } else {
    text_.put(",");
  }
  for (const std::string& piece : process) text_.put(piece);
}

void Document::add(const JobFinding& found) {
  findings_.push_back(finding_json(found.finding, found.site ? site_json(*found.site) : Json(nullptr)));
}

void Document::add(const Outlier& outlier) {
  outliers_.push_back(outlier_json(outlier));
}

std::vector<std::string> Document::take(const Json& more) && {
  text_.put(text_.margin(1) + "]");
  Json last = {{"findings", std::move(findings_)}, {"outliers", std::move(outliers_)}};
  last.update(more);
  for (const auto& [key, value] : last.items()) {
    text_.put("," + text_.margin(1) + json_text(key) + ": ");
    text_.put(value, 1);
  }
  text_.put("\n}\n");
  return text_.take();
}

} // namespace memtrace::report
