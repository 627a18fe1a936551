// Purpose: the ends of processes as `memtrace run` saw them from outside: lines of files beside their traces.
#include "analyzer/evidence/watched_ends.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <type_traits>

#include "analyzer/files/reading.h"

namespace memtrace::evidence {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr char kEndsSchema[] = "memtrace.ends/1";
constexpr std::uint64_t kMostRead = 16 << 20; // bytes of one file: a hundred thousand ends

template <class T>
T value(const Json& from, const char* key, T otherwise) {
  const auto found = from.find(key);
  if (found == from.end()) return otherwise;
  if constexpr (std::is_same_v<T, std::string>)
    return found->is_string() ? found->get<T>() : otherwise;
  else if constexpr (std::is_same_v<T, bool>)
    return found->is_boolean() ? found->get<T>() : otherwise;
  else if constexpr (std::is_floating_point_v<T>)
    return found->is_number() ? found->get<T>() : otherwise;
  else // 1e300 is a number but not an integer
    return found->is_number_integer() ? found->get<T>() : otherwise;
}

bool parse(const std::string& line, End& end) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object() || value<std::string>(json, "schema", "") != kEndsSchema) return false;
  const std::string how = value<std::string>(json, "how", "");
  if (how != "signal" && how != "exit") return false;
  end.host = value<std::string>(json, "host", "");
  end.pid = value<std::uint64_t>(json, "pid", 0);
  end.trace = value<std::string>(json, "trace", "");
  end.signal = how == "signal";
  end.code = value(json, "code", 0);
  end.dumped = value(json, "dumped", false);
  end.unix = value(json, "unix", 0.0);
  end.seen = value<std::string>(json, "seen", "");
  return true;
}

} // namespace

std::string line_of(const End& end) {
  Json json = {{"schema", kEndsSchema}, {"host", end.host}, {"pid", end.pid}};
  if (!end.trace.empty()) json["trace"] = end.trace;
  json["how"] = end.signal ? "signal" : "exit";
  json["code"] = end.code;
  if (end.dumped) json["dumped"] = true;
  json["unix"] = end.unix;
  json["seen"] = end.seen;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<End> parse_ends(const std::string& lines) {
  std::istringstream file(lines);
  std::vector<End> ends;
  End one;
  for (std::string line; std::getline(file, line);)
    if (parse(line, one)) ends.push_back(one);
  return ends;
}

std::vector<End> read_ends(const std::string& directory) {
  std::vector<End> ends;
  for (const std::string& name : files::names_in(directory)) {
    const fs::path path = fs::path(directory) / name;
    if (path.extension() != kEndsSuffix) continue;
    const std::vector<End> more = parse_ends(files::read_found(path.string(), kMostRead).value_or(""));
    ends.insert(ends.end(), more.begin(), more.end());
  }
  return ends;
}

const End* end_of(const std::vector<End>& ends, const std::string& stem) {
  const auto found = std::find_if(ends.begin(), ends.end(), [&](const End& end) { return end.trace == stem; });
  return found == ends.end() || stem.empty() ? nullptr : &*found;
}

} // namespace memtrace::evidence
