// Purpose: writes a packed file, member by member.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/archive/pack_list.h"
#include "analyzer/archive/zstd_writer.h"

namespace memtrace::archive {

class PackWriter {
 public:
  // `content_bytes`: about how many bytes the members have. Throws std::runtime_error with one line if the file
  // cannot be written, or if a member has no place in it; here and later.
  PackWriter(const std::string& path, const PackList& list, std::uint64_t content_bytes);

  // Adds the next member of the list.
  void add(const std::string& name, std::string_view content);
  // Adds the columns of a trace file under this name, which has kColumnsSuffix.
  void add_columns(const std::string& name, std::string_view file);
  std::uint64_t finish(); // the bytes of the file

 private:
  void add_header(const std::string& name, std::uint64_t bytes);
  void add_padding(std::uint64_t bytes);

  ZstdWriter to_;
};

} // namespace memtrace::archive
