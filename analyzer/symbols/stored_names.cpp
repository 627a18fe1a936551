// Purpose: the names of a trace's native code in a file beside the trace, so that they outlive the libraries.
#include "analyzer/symbols/stored_names.h"

#include <fmt/core.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "analyzer/files/reading.h"

namespace memtrace::symbols {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kNamesSchema[] = "memtrace.symbols/1";
constexpr std::string_view kTraceSuffix = ".memtrace";
constexpr std::uint64_t kMostBytes = 256 * files::kMiB;

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string text(const Json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::uint32_t number(const Json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_number_unsigned() ? found->get<std::uint32_t>() : 0;
}

Json json_of(const SourceFrame& frame) {
  Json out = Json::object();
  if (!frame.function.empty()) out["function"] = frame.function;
  if (!frame.file.empty()) out["file"] = frame.file;
  if (frame.line != 0) out["line"] = frame.line;
  return out;
}

void take_line(const Json& from, StoredNames& out) {
  if (const std::string operators = text(from, "compiled"); !operators.empty()) {
    out.compiled[{text(from, "file"), number(from, "line")}] = operators;
    return;
  }
  const std::string address = text(from, "address");
  const auto frames = from.find("frames");
  std::uint64_t at = 0;
  const auto [end, error] = std::from_chars(address.data(), address.data() + address.size(), at, 16);
  if (address.empty() || error != std::errc() || end != address.data() + address.size()) return;
  if (frames == from.end() || !frames->is_array() || frames->empty()) return;
  std::vector<SourceFrame>& known = out.natives[at];
  known.clear();
  for (const Json& frame : *frames)
    if (frame.is_object())
      known.push_back({text(frame, "function"), text(frame, "file"), number(frame, "line")});
}

} // namespace

const std::vector<SourceFrame>* StoredNames::at(std::uint64_t return_address) const {
  const auto found = natives.find(return_address);
  return found != natives.end() && !found->second.empty() ? &found->second : nullptr;
}

std::string StoredNames::filled_by(std::string_view file, std::uint32_t line) const {
  const auto found = compiled.find({std::string(file), line});
  return found != compiled.end() ? found->second : std::string();
}

std::string names_file_of(const std::string& trace_path) {
  const bool named = trace_path.ends_with(kTraceSuffix);
  return trace_path.substr(0, trace_path.size() - (named ? kTraceSuffix.size() : 0)) + ".symbols";
}

std::string text_of(const StoredNames& names) {
  std::string out = line_of({{"schema", kNamesSchema}});
  for (const auto& [address, frames] : names.natives) {
    Json list = Json::array();
    for (const SourceFrame& frame : frames) list.push_back(json_of(frame));
    out += line_of({{"address", fmt::format("{:x}", address)}, {"frames", std::move(list)}});
  }
  for (const auto& [place, operators] : names.compiled)
    out += line_of({{"file", place.first}, {"line", place.second}, {"compiled", operators}});
  return out;
}

std::optional<StoredNames> load_names(const std::string& path) {
  const std::optional<std::string> whole = files::read_found(path, kMostBytes);
  if (!whole) return std::nullopt;
  StoredNames out;
  bool first = true;
  for (std::size_t at = 0; at < whole->size(); first = false) {
    const std::size_t end = std::min(whole->find('\n', at), whole->size());
    const Json line = Json::parse(whole->begin() + static_cast<std::ptrdiff_t>(at),
                                  whole->begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    at = end + 1;
    if (first && (!line.is_object() || text(line, "schema") != kNamesSchema)) return std::nullopt;
    if (!first && line.is_object()) take_line(line, out);
  }
  if (first) return std::nullopt;
  return out;
}

} // namespace memtrace::symbols
