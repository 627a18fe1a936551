// Purpose: a file without a name for bytes that would take too much memory.
#include "analyzer/files/scratch_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "analyzer/files/packed_files.h"

namespace memtrace::files {
namespace {

constexpr std::size_t kScratchPiece = 1 << 17;

} // namespace

ScratchFile::~ScratchFile() {
  if (fd_ >= 0) ::close(fd_);
}

bool ScratchFile::append(std::string_view bytes) {
  if (fd_ < 0) fd_ = open_nameless();
  if (fd_ < 0) return false;
  if (!write_at(fd_, bytes, bytes_)) return false;
  bytes_ += bytes.size();
  return true;
}

bool ScratchFile::each_piece(const std::function<void(std::string_view)>& take) const {
  std::string piece(kScratchPiece, '\0');
  for (std::uint64_t at = 0; at < bytes_;) {
    const ssize_t got =
        ::pread(fd_, piece.data(), std::min<std::uint64_t>(piece.size(), bytes_ - at), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    take(std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
    at += static_cast<std::uint64_t>(got);
  }
  return true;
}

} // namespace memtrace::files
