// Purpose: turns a JSON value into text for output.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace memtrace::report {

using Json = nlohmann::ordered_json;

// The indent of each level in all output of this folder, in columns.
constexpr int kIndent = 2;

// Returns `value` in lines, without a last line break. Names come from the traced program and may hold any
// byte. Invalid UTF-8 becomes U+FFFD; nlohmann would throw by default.
inline std::string json_text(const Json& value) {
  return value.dump(kIndent, ' ', false, Json::error_handler_t::replace);
}

// Returns `value` in one line.
inline std::string json_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace memtrace::report
