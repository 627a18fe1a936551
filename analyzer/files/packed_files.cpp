// Purpose: the files inside packed files. Each opens like a file in a directory that has the packed file's
// name.
#include "analyzer/files/packed_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace memtrace::files {
namespace {

constexpr std::size_t kHole = 4096; // so many zeros become a hole: a ring file has many
constexpr std::size_t kCopied = 1 << 18;

int nameless_in(const std::string& folder) {
  int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  std::string name = folder + "/memtrace-XXXXXX"; // the file system has no O_TMPFILE
  fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd >= 0) ::unlink(name.c_str());
  return fd;
}

} // namespace

bool write_at(int fd, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return true;
}

bool write_sparse(int fd, std::string_view bytes, std::uint64_t offset) {
  for (std::size_t at = 0; at < bytes.size(); at += kHole) {
    const std::string_view piece = bytes.substr(at, kHole);
    if (std::all_of(piece.begin(), piece.end(), [](char c) { return c == 0; })) continue;
    if (!write_at(fd, piece, offset + at)) return false;
  }
  return true;
}

int open_nameless() {
  const char* const folder = std::getenv("TMPDIR");
  int fd = folder != nullptr && *folder != '\0' ? nameless_in(folder) : -1;
  if (fd < 0) fd = nameless_in("/tmp");
  return fd >= 0 ? fd : ::memfd_create("memtrace", MFD_CLOEXEC);
}

PackedFiles& PackedFiles::of_command() {
  static PackedFiles files;
  return files;
}

void PackedFiles::add(const std::string& pack, const std::string& name) {
  end_ = (end_ + kHole - 1) / kHole * kHole;
  last_ = &packs_[pack][name];
  *last_ = {end_, 0};
}

bool PackedFiles::append(std::string_view bytes) {
  if (store_ < 0) store_ = open_nameless();
  if (store_ < 0 || !write_sparse(store_, bytes, end_)) return false;
  end_ += bytes.size();
  last_->bytes += bytes.size();
  return ::ftruncate(store_, static_cast<off_t>(end_)) == 0;
}

bool PackedFiles::holds(const std::string& path) const {
  const std::size_t slash = path.rfind('/');
  return slash != std::string::npos && packs_.contains(path.substr(0, slash));
}

std::vector<std::string> PackedFiles::names(const std::string& pack) const {
  std::vector<std::string> out;
  if (const auto found = packs_.find(pack); found != packs_.end())
    for (const auto& [name, member] : found->second) out.push_back(name);
  return out;
}

const PackedFiles::PackedMember* PackedFiles::member(const std::string& path) const {
  errno = ENOENT;
  const std::size_t slash = path.rfind('/');
  const auto pack = slash == std::string::npos ? packs_.end() : packs_.find(path.substr(0, slash));
  if (pack == packs_.end()) return nullptr;
  const auto found = pack->second.find(path.substr(slash + 1));
  return found == pack->second.end() ? nullptr : &found->second;
}

template <class Take>
bool PackedFiles::each_piece(const PackedMember& member, Take take) const {
  std::string buffer(kCopied, '\0');
  for (std::uint64_t done = 0; done < member.bytes;) {
    const auto wanted = std::min<std::uint64_t>(kCopied, member.bytes - done);
    const ssize_t got = ::pread(store_, buffer.data(), wanted, static_cast<off_t>(member.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || !take(std::string_view(buffer).substr(0, static_cast<std::size_t>(got)), done))
      return false;
    done += static_cast<std::uint64_t>(got);
  }
  return true;
}

bool PackedFiles::copy(const std::string& path, int to) const {
  const PackedMember* const from = member(path);
  return from != nullptr &&
         each_piece(*from,
                    [to](std::string_view piece, std::uint64_t at) { return write_sparse(to, piece, at); }) &&
         ::ftruncate(to, static_cast<off_t>(from->bytes)) == 0;
}

bool PackedFiles::equals(const std::string& path, const std::string& other) const {
  const PackedMember* const packed = member(path);
  const int fd = packed == nullptr ? -1 : ::open(other.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  std::string bytes(kCopied + 1, '\0');
  const auto same = [&](std::string_view piece, std::uint64_t at) {
    const ssize_t got = ::pread(fd, bytes.data(), piece.size(), static_cast<off_t>(at));
    return got == static_cast<ssize_t>(piece.size()) && std::string_view(bytes).starts_with(piece);
  };
  const bool equal =
      each_piece(*packed, same) && ::pread(fd, bytes.data(), 1, static_cast<off_t>(packed->bytes)) == 0;
  ::close(fd);
  return equal;
}

int PackedFiles::open(const std::string& path) const {
  const int fd = open_nameless();
  if (fd < 0 || copy(path, fd)) return fd;
  const int why = errno;
  ::close(fd);
  errno = why;
  return -1;
}

bool PackedFiles::write(const std::string& path, const std::string& to) const {
  const int fd = ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool copied = copy(path, fd);
  int why = errno;
  const bool closed = ::close(fd) == 0;
  if (copied && !closed) why = errno;
  if (!copied || !closed) ::unlink(to.c_str());
  errno = why;
  return copied && closed;
}

} // namespace memtrace::files
