// Purpose: reads what Kubernetes reports about a pod's containers.
#include "analyzer/evidence/sources/kubernetes_pod.h"

#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "analyzer/evidence/sources/log_time.h"

namespace memtrace::evidence {
namespace {

using Json = nlohmann::json;

// These files may be made by hand. A key that is missing or has another type yields a null value.
const Json& at(const Json& object, const char* key) {
  static const Json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(key);
  return found == object.end() ? nothing : *found;
}

std::string text(const Json& object, const char* key) {
  const Json& value = at(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::optional<int> integer(const Json& object, const char* key) {
  const Json& value = at(object, key);
  return value.is_number_integer() ? std::optional<int>(value.get<int>()) : std::nullopt;
}

When time(const Json& object, const char* key) {
  return iso_time(text(object, key)).value_or(When{});
}

// Returns the bytes of "480Gi", "500M" or "1.5e9", or kUnknown.
std::uint64_t quantity(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (!value.is_string()) return kUnknown;
  const std::string words = value.get<std::string>();
  static const std::map<std::string, double> units = {
      {"", 1},        {"k", 1e3},     {"M", 1e6},     {"G", 1e9},     {"T", 1e12},    {"P", 1e15},
      {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"m", 1e-3}};
  char* end = nullptr;
  const double figure = std::strtod(words.c_str(), &end);
  const auto unit = units.find(end);
  if (end == words.c_str() || unit == units.end() || !(figure >= 0) || figure * unit->second > 1e18)
    return kUnknown;
  return static_cast<std::uint64_t>(std::llround(figure * unit->second));
}

std::uint64_t limit_of(const Json& pod, const std::string& container) {
  for (const char* list : {"containers", "initContainers"}) {
    for (const Json& one : at(at(pod, "spec"), list)) {
      if (text(one, "name") == container) return quantity(at(at(at(one, "resources"), "limits"), "memory"));
    }
  }
  return kUnknown;
}

// Returns the host's name that the pod's processes see.
std::string host_of(const Json& pod) {
  const Json& spec = at(pod, "spec");
  if (at(spec, "hostNetwork") == true) return text(spec, "nodeName");
  const std::string host = text(spec, "hostname");
  return host.empty() ? text(at(pod, "metadata"), "name") : host;
}

void take_end(const Json& pod, const std::string& container, const Json& ended, Evidence& into) {
  if (!ended.is_object()) return;
  Statement statement;
  const Json& metadata = at(pod, "metadata");
  statement.source = "pod";
  statement.who = "pod " + text(metadata, "name") + ", container " + container;
  statement.host = host_of(pod);
  statement.reason = text(ended, "reason");
  statement.out_of_memory = statement.reason == "OOMKilled";
  statement.code = integer(ended, "exitCode");
  statement.signal = integer(ended, "signal");
  statement.began = time(ended, "startedAt");
  statement.ended = time(ended, "finishedAt");
  statement.limit = limit_of(pod, container);
  into.statements.push_back(std::move(statement));
}

// The node is low on a resource, and the kubelet ends a pod for it. From pkg/kubelet/eviction/helpers.go of
// Kubernetes: the reason is "Evicted", the message begins "The node was low on resource: memory. ".
ManagerKill eviction(const std::string& message) {
  ManagerKill kill;
  kill.manager = "kubelet";
  kill.for_memory = message.find("low on resource: memory") != std::string::npos;
  kill.words = "Evicted: " + message;
  return kill;
}

// The condition DisruptionTarget has the time of the eviction (Kubernetes 1.26 and later).
void take_eviction(const Json& pod, Evidence& into) {
  const Json& status = at(pod, "status");
  if (text(status, "reason") != "Evicted") return;
  ManagerKill kill = eviction(text(status, "message"));
  kill.host = host_of(pod);
  for (const Json& condition : at(status, "conditions"))
    if (text(condition, "type") == "DisruptionTarget") kill.when = time(condition, "lastTransitionTime");
  for (const Json& container : at(status, "containerStatuses"))
    if (!kill.when.unix) kill.when = time(at(at(container, "state"), "terminated"), "finishedAt");
  into.manager_kills.push_back(std::move(kill));
}

void take_event(const Json& event, Evidence& into) {
  const Json& object = at(event, "involvedObject");
  if (text(event, "reason") != "Evicted" || text(object, "kind") != "Pod") return;
  ManagerKill kill = eviction(text(event, "message"));
  kill.host = text(object, "name");
  for (const char* key : {"lastTimestamp", "eventTime", "firstTimestamp"})
    if (!kill.when.unix) kill.when = time(event, key);
  into.manager_kills.push_back(std::move(kill));
}

void take_pod(const Json& pod, Evidence& into) {
  take_eviction(pod, into);
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    for (const Json& container : at(at(pod, "status"), list)) {
      for (const char* state : {"lastState", "state"})
        take_end(pod, text(container, "name"), at(at(container, state), "terminated"), into);
    }
  }
}

} // namespace

bool read_pods(std::string_view json, Evidence& into) {
  const Json document = Json::parse(json, nullptr, false);
  const std::string kind = text(document, "kind");
  if (kind == "Pod") {
    take_pod(document, into);
  } else if (kind == "Event") {
    take_event(document, into);
  } else if (kind == "List" || kind == "PodList" || kind == "EventList") {
    for (const Json& one : at(document, "items")) {
      if (text(one, "kind") == "Pod" || kind == "PodList") take_pod(one, into);
      if (text(one, "kind") == "Event" || kind == "EventList") take_event(one, into);
    }
  } else {
    return false;
  }
  return true;
}

} // namespace memtrace::evidence
