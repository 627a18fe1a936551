// Purpose: the names of a trace's native code in a file beside the trace, so that they outlive the libraries.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/symbols/debug_lines.h"

namespace memtrace::symbols {

struct StoredNames {
  // The functions at each native return address, inlined ones first. The names are demangled. The function of
  // the last one is empty if it is unknown.
  std::map<std::uint64_t, std::vector<SourceFrame>> natives;
  // The operators that fill the buffer of a line of torch.compile's code, by file and line.
  std::map<std::pair<std::string, std::uint32_t>, std::string> compiled;

  const std::vector<SourceFrame>* at(std::uint64_t return_address) const; // null: not stored
  std::string filled_by(std::string_view file, std::uint32_t line) const; // "": not stored
};

// Returns STEM.symbols for STEM.memtrace.
std::string names_file_of(const std::string& trace_path);

// Returns the content of such a file: a line of JSON for each address.
std::string text_of(const StoredNames& names);

// Returns nullopt if there is no such file, or if it is not one. Skips lines that cannot be parsed.
std::optional<StoredNames> load_names(const std::string& path);

} // namespace memtrace::symbols
