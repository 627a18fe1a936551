// Purpose: writes a packed file, member by member.
#include "analyzer/archive/pack_writer.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "analyzer/archive/tar_header.h"
#include "analyzer/columns/file_columns.h"
#include "analyzer/files/scratch_file.h"

namespace memtrace::archive {

PackWriter::PackWriter(const std::string& path, const PackList& list, std::uint64_t content_bytes)
    : to_(path, content_bytes) {
  add(kListName, text_of(list));
}

void PackWriter::add_header(const std::string& name, std::uint64_t bytes) {
  if (name.size() > kLongestTarName || bytes > kLargestTarMember)
    throw std::runtime_error(name + ": cannot be packed: a file has at most " +
                             std::to_string(kLongestTarName) +
                             " bytes of name and 8 GiB of content; rename it");
  to_.write(tar_header(name, bytes));
}

void PackWriter::add_padding(std::uint64_t bytes) {
  to_.write(std::string(tar_padding(bytes), '\0'));
}

void PackWriter::add(const std::string& name, std::string_view content) {
  add_header(name, content.size());
  to_.write(content);
  add_padding(content.size());
}

void PackWriter::add_columns(const std::string& name, std::string_view file) {
  files::ScratchFile columns; // the header has their size, and they take three times the memory of the file
  bool stored = true;
  columns::to_columns(file, [&](std::string_view piece) { stored = stored && columns.append(piece); });
  if (stored) add_header(name, columns.bytes());
  if (!stored || !columns.each_piece([this](std::string_view piece) { to_.write(piece); }))
    throw std::runtime_error(name + ": cannot be packed (" + std::strerror(errno) +
                             "); set TMPDIR to a directory with more room");
  add_padding(columns.bytes());
}

std::uint64_t PackWriter::finish() {
  to_.write(std::string(2 * kTarBlock, '\0'));
  return to_.finish();
}

} // namespace memtrace::archive
