// Purpose: tells files that a traced process wrote, or that hold such files, from others.
#include "analyzer/decode/recorded_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "analyzer/files/reading.h"
#include "preload/format/file_headers.h"
#include "preload/format/rollup_layout.h"

namespace memtrace::trace {
namespace {

constexpr char kZstdMagic[] = {'\x28', '\xB5', '\x2F', '\xFD'};

// Returns the first 8 bytes, or fewer.
std::string beginning_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  std::string why;
  const int fd = files::open_to_read(path, files::Origin::named, why);
  if (fd < 0) return "";
  std::array<char, 8> bytes{};
  const ssize_t got = ::pread(fd, bytes.data(), bytes.size(), 0);
  ::close(fd);
  return {bytes.data(), got < 0 ? 0 : static_cast<std::size_t>(got)};
}

} // namespace

const char* recorded_content(const std::string& path) {
  const std::string bytes = beginning_of(path);
  // the parts that all versions of memtrace have in common
  if (bytes.starts_with(std::string_view(format::kSegmentMagic, 3))) return "a trace";
  if (bytes.starts_with(std::string_view(format::kRingMagic, format::kFamily))) return "the rings of a trace";
  if (bytes.starts_with(std::string_view(format::kRollupMagic, format::kFamily)))
    return "the rollup of a trace";
  return bytes.starts_with(std::string_view(kZstdMagic, sizeof kZstdMagic)) ? "a packed file" : "";
}

} // namespace memtrace::trace
