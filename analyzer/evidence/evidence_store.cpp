// Purpose: stores evidence beside a trace, so that a later analysis has the same evidence.
#include "analyzer/evidence/evidence_store.h"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "analyzer/files/reading.h"
#include "analyzer/files/writing.h"

namespace memtrace::evidence {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kStoreSchema[] = "memtrace.evidence/1";
constexpr std::string_view kTrace = ".memtrace";
constexpr std::uint64_t kMostBytes = 64 * files::kMiB;

// One list of fields for each type, which a FieldWriter and a FieldReader visit. The file omits unknown fields.
// If the file lacks a field or has another type there, the reader leaves the field unchanged.
template <class Visitor, class Shape>
void fields(Visitor& visit, Shape& of) requires std::is_same_v<std::remove_const_t<Shape>, When> {
  visit("boot", of.boot);
  visit("unix", of.unix);
  visit("zoned", of.zoned, true);
}

template <class Visitor, class Shape>
void fields(Visitor& visit, Shape& of) requires std::is_same_v<std::remove_const_t<Shape>, Kill> {
  visit("pid", of.pid);
  visit("when", of.when);
  visit("name", of.name);
  visit("constraint", of.constraint);
  visit("limited", of.limited);
  visit("group", of.group);
  visit("total_vm", of.total_vm);
  visit("anon", of.anon);
  visit("file", of.file);
  visit("shmem", of.shmem);
  visit("usage", of.usage);
  visit("limit", of.limit);
  visit("whole_group", of.whole_group);
  visit("words", of.words);
}

template <class Visitor, class Shape>
void fields(Visitor& visit, Shape& of) requires std::is_same_v<std::remove_const_t<Shape>, ProgramFault> {
  visit("pid", of.pid);
  visit("when", of.when);
  visit("name", of.name);
  visit("words", of.words);
}

template <class Visitor, class Shape>
void fields(Visitor& visit, Shape& of) requires std::is_same_v<std::remove_const_t<Shape>, CgroupState> {
  visit("path", of.path);
  visit("there", of.there);
  visit("version_two", of.version_two);
  visit("charge", of.charge);
  visit("highest", of.highest);
  visit("limit", of.limit);
  visit("oom_kills", of.oom_kills);
  visit("met", of.met);
  visit("kills_all", of.kills_all);
}

template <class Visitor, class Shape>
void fields(Visitor& visit, Shape& of) requires std::is_same_v<std::remove_const_t<Shape>, Statement> {
  visit("source", of.source);
  visit("who", of.who);
  visit("pid", of.pid);
  visit("host", of.host);
  visit("reason", of.reason);
  visit("out_of_memory", of.out_of_memory);
  visit("code", of.code);
  visit("signal", of.signal);
  visit("began", of.began);
  visit("ended", of.ended);
  visit("limit", of.limit);
}

template <class Visitor, class Shape>
void fields(Visitor& visit, Shape& of) requires std::is_same_v<std::remove_const_t<Shape>, ManagerKill> {
  visit("manager", of.manager);
  visit("pid", of.pid);
  visit("when", of.when);
  visit("group", of.group);
  visit("host", of.host);
  visit("signal", of.signal);
  visit("for_memory", of.for_memory);
  visit("failed", of.failed);
  visit("words", of.words);
}

template <class Visitor, class Shape>
void fields(Visitor& visit, Shape& of) requires std::is_same_v<std::remove_const_t<Shape>, ShmOrphan> {
  visit("name", of.name);
  visit("bytes", of.bytes);
  visit("made", of.made);
  visit("mapped", of.mapped);
}

template <class Visitor, class Shape>
void fields(Visitor& visit, Shape& of) requires std::is_same_v<std::remove_const_t<Shape>, ShmLeftovers> {
  visit("looked", of.looked);
  visit("unseen", of.unseen);
  visit("pids", of.pids);
  visit("orphans", of.orphans);
}

template <class Visitor, class Shape>
void fields(Visitor& visit, Shape& of) requires std::is_same_v<std::remove_const_t<Shape>, Evidence> {
  visit("closed", of.closed);
  visit("running", of.running);
  visit("asked", of.asked);
  visit("read_unix", of.read_unix);
  visit("log", of.log);
  visit("log_from", of.log_from);
  visit("files", of.files);
  visit("kills", of.kills);
  visit("faults", of.faults);
  visit("groups", of.groups);
  visit("statements", of.statements);
  visit("manager_kills", of.manager_kills);
  visit("left", of.left);
}

class FieldWriter {
 public:
  explicit FieldWriter(Json& to) : to_(to) {}

  void operator()(const char* key, std::uint64_t value) {
    if (value != kUnknown) to_[key] = value;
  }
  void operator()(const char* key, double value) { to_[key] = value; }
  void operator()(const char* key, bool value, bool usual = false) {
    if (value != usual) to_[key] = value;
  }
  void operator()(const char* key, const std::string& value) {
    if (!value.empty()) to_[key] = value;
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value) {
    if (value) to_[key] = *value;
  }
  template <class T>
  void operator()(const char* key, const std::vector<T>& all) {
    Json list = Json::array();
    for (const T& one : all) list.push_back(json(one));
    to_[key] = std::move(list);
  }
  void operator()(const char* key, const When& value) {
    Json out = json(value);
    if (!out.empty()) to_[key] = std::move(out);
  }
  void operator()(const char* key, const ShmLeftovers& value) {
    if (value.looked) to_[key] = json(value);
  }

 private:
  static Json json(const std::string& text) { return text; }
  template <class Shape>
  static Json json(const Shape& of) {
    Json out = Json::object();
    FieldWriter writer(out);
    fields(writer, of);
    return out;
  }

  Json& to_;
};

class FieldReader {
 public:
  explicit FieldReader(const Json& from) : from_(from) {}

  void operator()(const char* key, std::uint64_t& value) {
    if (const Json* const found = find(key); found != nullptr && found->is_number_unsigned())
      found->get_to(value);
  }
  void operator()(const char* key, double& value) {
    if (const Json* const found = find(key); found != nullptr && found->is_number()) found->get_to(value);
  }
  void operator()(const char* key, bool& value, bool = false) {
    if (const Json* const found = find(key); found != nullptr && found->is_boolean()) found->get_to(value);
  }
  void operator()(const char* key, std::string& value) { take(find(key), value); }
  void operator()(const char* key, std::optional<double>& value) {
    if (const Json* const found = find(key); found != nullptr && found->is_number())
      value = found->get<double>();
  }
  void operator()(const char* key, std::optional<int>& value) {
    if (const Json* const found = find(key); found != nullptr && found->is_number_integer())
      value = found->get<int>();
  }
  void operator()(const char* key, When& value) { take(find(key), value); }
  // If no scan took place, the file has no ShmLeftovers, and the reader resets them.
  void operator()(const char* key, ShmLeftovers& value) {
    take(find(key), value);
    if (!value.looked) value = {};
  }
  template <class T>
  void operator()(const char* key, std::vector<T>& all) {
    const Json* const found = find(key);
    if (found == nullptr || !found->is_array()) return;
    for (const Json& one : *found) {
      T value{};
      if (take(&one, value)) all.push_back(std::move(value));
    }
  }

 private:
  const Json* find(const char* key) const {
    const auto found = from_.find(key);
    return found == from_.end() ? nullptr : &*found;
  }
  static bool take(const Json* from, std::string& value) {
    if (from == nullptr || !from->is_string()) return false;
    from->get_to(value);
    return true;
  }
  template <class Shape>
  static bool take(const Json* from, Shape& of) {
    if (from == nullptr || !from->is_object()) return false;
    FieldReader reader(*from);
    fields(reader, of);
    return true;
  }

  const Json& from_;
};

} // namespace

std::string store_of(const std::string& trace_path) {
  const bool named = trace_path.ends_with(kTrace);
  return trace_path.substr(0, trace_path.size() - (named ? kTrace.size() : 0)) + ".evidence";
}

std::optional<Evidence> load(const std::string& path) {
  const std::optional<std::string> text = files::read_found(path, kMostBytes);
  if (!text) return std::nullopt;
  const Json from = Json::parse(*text, nullptr, false);
  if (!from.is_object()) return std::nullopt;
  FieldReader reader(from);
  std::string schema;
  reader("schema", schema);
  if (schema != kStoreSchema) return std::nullopt;
  Evidence evidence;
  fields(reader, evidence);
  return evidence;
}

std::string text_of(const Evidence& evidence) {
  Json out = {{"schema", kStoreSchema}};
  FieldWriter writer(out);
  fields(writer, evidence);
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool save(const std::string& path, const Evidence& evidence) {
  return files::replace(path, text_of(evidence));
}

} // namespace memtrace::evidence
