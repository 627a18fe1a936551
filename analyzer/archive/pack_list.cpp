// Purpose: pack.json, the first member of a packed file: what the others are.
#include "analyzer/archive/pack_list.h"

#include <nlohmann/json.hpp>

namespace memtrace::archive {

using Json = nlohmann::ordered_json;

std::string text_of(const PackList& list) {
  const Json out = {{"schema", list.schema},
                    {"memtrace", list.memtrace},
                    {"redacted", list.redacted},
                    {"members", list.members}};
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<PackList> parse_list(const std::string& text) {
  const Json from = Json::parse(text, nullptr, false);
  const auto string = [](const Json& of, const char* key) {
    const auto found = of.find(key);
    return found != of.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (!from.is_object()) return std::nullopt;
  PackList list{string(from, "schema"), string(from, "memtrace"), false, {}};
  const auto redacted = from.find("redacted"), members = from.find("members");
  list.redacted = redacted != from.end() && redacted->is_boolean() && redacted->get<bool>();
  if (members != from.end() && members->is_array())
    for (const Json& member : *members)
      if (member.is_string()) list.members.push_back(member.get<std::string>());
  return list;
}

} // namespace memtrace::archive
