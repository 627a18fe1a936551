// Purpose: what the command says of a trace, without what changes with its wording.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace memtrace::tests {

using Json = nlohmann::ordered_json;

// `memtrace report --format json` of a copy of the trace in a directory of its own.
Json pruned_report(const std::string& trace);

// Where `got` does not hold what `expected` does, one line each. Fields that were added are no difference.
std::string differences(const Json& expected, const Json& got, const std::string& at = "");

} // namespace memtrace::tests
