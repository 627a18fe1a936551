// Purpose: writes a packed file, member by member.
#include "analyzer/archive/pack_writer.h"

#include <stdexcept>

#include "analyzer/archive/tar_header.h"

namespace memtrace::archive {

PackWriter::PackWriter(const std::string& path, const PackList& list, std::uint64_t content_bytes)
    : to_(path, content_bytes) {
  add(kListName, text_of(list));
}

void PackWriter::add(const std::string& name, std::string_view content) {
  if (name.size() > kLongestTarName || content.size() > kLargestTarMember)
    throw std::runtime_error(name + ": cannot be packed: a file has at most " +
                             std::to_string(kLongestTarName) +
                             " bytes of name and 8 GiB of content; rename it");
  to_.write(tar_header(name, content.size()));
  to_.write(content);
  to_.write(std::string(tar_padding(content.size()), '\0'));
}

std::uint64_t PackWriter::finish() {
  to_.write(std::string(2 * kTarBlock, '\0'));
  return to_.finish();
}

} // namespace memtrace::archive
