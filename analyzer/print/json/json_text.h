// Purpose: the text of a JSON value, for output.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace memtrace::report {

using Json = nlohmann::ordered_json;

// Columns of each level in all output of this folder.
constexpr int kIndent = 2;

// Returns `value` in lines, without a last line break. Names come from the traced program and may hold any
// byte: what is not valid UTF-8 becomes U+FFFD, where nlohmann would throw.
inline std::string json_text(const Json& value) {
  return value.dump(kIndent, ' ', false, Json::error_handler_t::replace);
}

} // namespace memtrace::report
