// Purpose: the files inside STEM.rest, which has the other files of a trace that was copied to a shared file
// system.
#include "analyzer/files/rest_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>

#include "analyzer/files/packed_files.h"
#include "preload/format/shared_files.h"

namespace memtrace::files {
namespace {

constexpr std::size_t kRestPiece = 1 << 18;

// The file is open while the object exists.
class RestFile {
 public:
  explicit RestFile(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW)) {
    struct stat status {};
    if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return;
    bytes_ = static_cast<std::uint64_t>(status.st_size);
    whole_ = ::pread(descriptor_, &header_, sizeof header_, 0) == static_cast<ssize_t>(sizeof header_) &&
             std::memcmp(header_.magic, format::kRestMagic, sizeof header_.magic) == 0 &&
             header_.parts <= format::kRestParts;
  }
  ~RestFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  RestFile(const RestFile&) = delete;
  RestFile& operator=(const RestFile&) = delete;

  // Another user may have written the file, so each field is checked.
  template <class Take>
  void each_part(Take take) const {
    for (std::uint32_t i = 0; whole_ && i < header_.parts; ++i) {
      const format::RestPart& part = header_.part[i];
      const std::string_view suffix(part.suffix, ::strnlen(part.suffix, sizeof part.suffix));
      const bool known = std::find(std::begin(format::kOtherSuffixes), std::end(format::kOtherSuffixes),
                                   suffix) != std::end(format::kOtherSuffixes);
      // The last pages of a part may be a hole, which the file does not reach.
      if (known && part.offset <= bytes_ && part.bytes <= kMostPart) take(suffix, part);
    }
  }
  int descriptor() const { return descriptor_; }

 private:
  static constexpr std::uint64_t kMostPart = std::uint64_t{1} << 40;

  int descriptor_;
  std::uint64_t bytes_ = 0;
  bool whole_ = false;
  format::RestHeader header_{};
};

// Closes the file and returns -1. Keeps errno.
int closed_with_errno(int fd) {
  const int why = errno;
  ::close(fd);
  errno = why;
  return -1;
}

// Returns a descriptor of a nameless file with these bytes, or -1 with errno set. Empty pages become holes.
int copy_of(int from, const format::RestPart& part) {
  const int fd = open_nameless();
  if (fd < 0) return -1;
  std::string piece(kRestPiece, '\0');
  std::uint64_t done = 0;
  while (done < part.bytes) {
    const auto wanted = std::min<std::uint64_t>(kRestPiece, part.bytes - done);
    const ssize_t got = ::pread(from, piece.data(), wanted, static_cast<off_t>(part.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    const auto bytes = static_cast<std::size_t>(got);
    if (!write_sparse(fd, {piece.data(), bytes}, done)) return closed_with_errno(fd);
    done += bytes;
  }
  return ::ftruncate(fd, static_cast<off_t>(part.bytes)) == 0 ? fd : closed_with_errno(fd);
}

// Returns the stem and the suffix of "STEM.window-0", if the suffix is one of a trace's other files.
std::optional<std::pair<std::string, std::string>> parts_of(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  const std::string suffix = path.substr(dot);
  for (const char* const one : format::kOtherSuffixes)
    if (suffix == one) return std::pair(path.substr(0, dot), suffix);
  return std::nullopt;
}

} // namespace

int open_in_rest(const std::string& path) {
  const auto parts = parts_of(path);
  errno = ENOENT;
  if (!parts) return -1;
  const RestFile rest(parts->first + format::kRestSuffix);
  std::optional<format::RestPart> found;
  rest.each_part([&](std::string_view suffix, const format::RestPart& part) {
    if (suffix == parts->second) found = part;
  });
  errno = ENOENT;
  return found ? copy_of(rest.descriptor(), *found) : -1;
}

std::vector<std::string> names_in_rest(const std::string& path) {
  std::vector<std::string> out;
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string stem = name.substr(0, name.size() - (sizeof format::kRestSuffix - 1));
  RestFile(path).each_part(
      [&](std::string_view suffix, const format::RestPart&) { out.push_back(stem + std::string(suffix)); });
  return out;
}

} // namespace memtrace::files
