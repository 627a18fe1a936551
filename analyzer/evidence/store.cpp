// Room: evidence.
// Job: evidence beside a trace, so that whoever reads it later has the same.
#include "evidence/store.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace memtrace::evidence {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kSchema[] = "memtrace.evidence/1";
constexpr std::string_view kTrace = ".memtrace";

// What is unknown is left out.
void put(Json& to, const char* key, std::uint64_t value) {
  if (value != kUnknown) to[key] = value;
}
void put(Json& to, const char* key, const std::string& value) {
  if (!value.empty()) to[key] = value;
}
void put(Json& to, const char* key, const When& when) {
  Json out = Json::object();
  if (when.boot) out["boot"] = *when.boot;
  if (when.unix) out["unix"] = *when.unix;
  if (!when.zoned) out["zoned"] = false;
  if (!out.empty()) to[key] = std::move(out);
}

std::uint64_t figure(const Json& from, const char* key, std::uint64_t otherwise = kUnknown) {
  const auto found = from.find(key);
  return found != from.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : otherwise;
}
std::string words(const Json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_string() ? found->get<std::string>() : std::string();
}
bool flag(const Json& from, const char* key, bool otherwise = false) {
  const auto found = from.find(key);
  return found != from.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}
std::optional<double> seconds(const Json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_number() ? std::optional<double>(found->get<double>()) : std::nullopt;
}
std::optional<int> integer(const Json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_number_integer() ? std::optional<int>(found->get<int>())
                                                           : std::nullopt;
}
When when(const Json& from, const char* key) {
  const auto found = from.find(key);
  if (found == from.end() || !found->is_object()) return {};
  return {seconds(*found, "boot"), seconds(*found, "unix"), flag(*found, "zoned", true)};
}
Json list(const Json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_array() ? *found : Json::array();
}

Json json(const Kill& kill) {
  Json out = {{"pid", kill.pid}};
  put(out, "when", kill.when);
  put(out, "name", kill.name);
  put(out, "constraint", kill.constraint);
  put(out, "limited", kill.limited);
  put(out, "group", kill.group);
  put(out, "total_vm", kill.total_vm);
  put(out, "anon", kill.anon);
  put(out, "file", kill.file);
  put(out, "shmem", kill.shmem);
  put(out, "usage", kill.usage);
  put(out, "limit", kill.limit);
  if (kill.whole_group) out["whole_group"] = true;
  put(out, "words", kill.words);
  return out;
}

Kill kill_of(const Json& from) {
  Kill kill;
  kill.when = when(from, "when");
  kill.pid = figure(from, "pid", 0);
  kill.name = words(from, "name");
  kill.constraint = words(from, "constraint");
  kill.limited = words(from, "limited");
  kill.group = words(from, "group");
  kill.total_vm = figure(from, "total_vm");
  kill.anon = figure(from, "anon");
  kill.file = figure(from, "file");
  kill.shmem = figure(from, "shmem");
  kill.usage = figure(from, "usage");
  kill.limit = figure(from, "limit");
  kill.whole_group = flag(from, "whole_group");
  kill.words = words(from, "words");
  return kill;
}

Json json(const Fault& fault) {
  Json out = {{"pid", fault.pid}};
  put(out, "when", fault.when);
  put(out, "name", fault.name);
  put(out, "words", fault.words);
  return out;
}

Json json(const Group& group) {
  Json out = {{"path", group.path}, {"there", group.there}, {"version", group.version_two ? 2 : 1}};
  put(out, "charge", group.charge);
  put(out, "highest", group.highest);
  put(out, "limit", group.limit);
  put(out, "oom_kills", group.oom_kills);
  put(out, "met", group.met);
  if (group.kills_all) out["kills_all"] = true;
  return out;
}

Group group_of(const Json& from) {
  return {words(from, "path"),       flag(from, "there"),     figure(from, "version") == 2,
          figure(from, "charge"),    figure(from, "highest"), figure(from, "limit"),
          figure(from, "oom_kills"), figure(from, "met"),     flag(from, "kills_all")};
}

Json json(const Statement& statement) {
  Json out = {{"source", statement.source}, {"who", statement.who}};
  if (statement.pid != 0) out["pid"] = statement.pid;
  put(out, "host", statement.host);
  put(out, "reason", statement.reason);
  if (statement.out_of_memory) out["out_of_memory"] = true;
  if (statement.code) out["code"] = *statement.code;
  if (statement.signal) out["signal"] = *statement.signal;
  put(out, "began", statement.began);
  put(out, "ended", statement.ended);
  put(out, "limit", statement.limit);
  return out;
}

Statement statement_of(const Json& from) {
  Statement statement;
  statement.source = words(from, "source");
  statement.who = words(from, "who");
  statement.pid = figure(from, "pid", 0);
  statement.host = words(from, "host");
  statement.reason = words(from, "reason");
  statement.out_of_memory = flag(from, "out_of_memory");
  statement.code = integer(from, "code");
  statement.signal = integer(from, "signal");
  statement.began = when(from, "began");
  statement.ended = when(from, "ended");
  statement.limit = figure(from, "limit");
  return statement;
}

template <class T>
Json json(const std::vector<T>& all) {
  Json out = Json::array();
  for (const T& one : all) out.push_back(json(one));
  return out;
}

} // namespace

std::string store_of(const std::string& trace_path) {
  const bool named = trace_path.ends_with(kTrace);
  return trace_path.substr(0, trace_path.size() - (named ? kTrace.size() : 0)) + ".evidence";
}

std::optional<Evidence> load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const Json from = Json::parse(file, nullptr, false);
  if (!from.is_object() || words(from, "schema") != kSchema) return std::nullopt;
  Evidence evidence;
  evidence.asked = flag(from, "asked");
  evidence.read_unix = seconds(from, "read_unix").value_or(0);
  evidence.log = words(from, "log");
  evidence.log_from = seconds(from, "log_from");
  for (const Json& name : list(from, "files")) {
    if (name.is_string()) evidence.files.push_back(name.get<std::string>());
  }
  for (const Json& one : list(from, "kills")) evidence.kills.push_back(kill_of(one));
  for (const Json& one : list(from, "faults"))
    evidence.faults.push_back(
        {when(one, "when"), figure(one, "pid", 0), words(one, "name"), words(one, "words")});
  for (const Json& one : list(from, "groups")) evidence.groups.push_back(group_of(one));
  for (const Json& one : list(from, "statements")) evidence.statements.push_back(statement_of(one));
  return evidence;
}

bool save(const std::string& path, const Evidence& evidence) {
  Json out = {{"schema", kSchema},
              {"asked", evidence.asked},
              {"read_unix", evidence.read_unix},
              {"log", evidence.log},
              {"files", evidence.files},
              {"kills", json(evidence.kills)},
              {"faults", json(evidence.faults)},
              {"groups", json(evidence.groups)},
              {"statements", json(evidence.statements)}};
  if (evidence.log_from) out["log_from"] = *evidence.log_from;
  const std::string partial = path + "." + std::to_string(::getpid());
  std::ofstream file(partial, std::ios::binary);
  file << out.dump(1, ' ', false, Json::error_handler_t::replace) << '\n';
  file.close();
  if (file && std::rename(partial.c_str(), path.c_str()) == 0) return true;
  std::remove(partial.c_str());
  return false;
}

} // namespace memtrace::evidence
