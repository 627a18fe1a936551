// Purpose: pack.json, the first member of a packed file: what the others are.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace memtrace::archive {

inline constexpr char kListName[] = "pack.json";
inline constexpr char kPackSchema[] = "memtrace.pack/2";
inline constexpr char kFirstSchema[] = "memtrace.pack/1"; // without columns; still read
// The suffix of a member that has the columns of a file (analyzer/columns). The file has the name without it.
inline constexpr char kColumnsSuffix[] = ".columns";

struct PackList {
  std::string schema;
  std::string memtrace; // the version that packed the files
  bool redacted = false;
  std::vector<std::string> members; // in their order, without pack.json
};

std::string text_of(const PackList& list);
std::optional<PackList> parse_list(const std::string& text);

} // namespace memtrace::archive
