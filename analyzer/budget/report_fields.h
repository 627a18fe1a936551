// Purpose: reads the fields of a report, which may be a file from elsewhere: a field of another type reads as
// absent.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace memtrace::budget {

using Json = nlohmann::ordered_json;

// Returns the field, or null.
inline const Json& member(const Json& object, const char* name) {
  static const Json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

inline std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : "";
}

inline std::int64_t number_of(const Json& value) {
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

// Returns the path of a row of phases: "step/clip".
inline std::string path_of(const Json& row) {
  std::string out;
  for (const Json& name : member(row, "path")) out += (out.empty() ? "" : "/") + text_of(name);
  return out;
}

} // namespace memtrace::budget
