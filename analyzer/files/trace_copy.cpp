// Purpose: moves the files of a trace from a local directory to the job's directory on a shared file system.
#include "analyzer/files/trace_copy.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/files/packed_files.h"
#include "analyzer/files/reading.h"
#include "analyzer/files/writing.h"
#include "preload/format/shared_files.h"

namespace memtrace::files {
namespace {

constexpr std::size_t kCopyPiece = 1 << 18;

// A descriptor that keeps errno when it is closed by an early return.
class OpenCopy {
 public:
  OpenCopy(const std::string& path, int flags)
      : descriptor_(::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644)) {}
  ~OpenCopy() {
    const int why = errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    errno = why;
  }
  OpenCopy(const OpenCopy&) = delete;
  OpenCopy& operator=(const OpenCopy&) = delete;
  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  bool close() { // a network file system tells here whether the writes worked
    const int fd = descriptor_;
    descriptor_ = -1;
    return ::close(fd) == 0;
  }

 private:
  int descriptor_;
};

std::optional<std::uint64_t> size_of(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

// Copies the bytes of `from` from `at` on to `at + shift`. Returns the offset after them.
std::optional<std::uint64_t> copy_bytes(int from, int to, std::uint64_t at, std::uint64_t shift) {
  std::string piece(kCopyPiece, '\0');
  for (;;) {
    const ssize_t got = ::pread(from, piece.data(), piece.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return at;
    const auto bytes = static_cast<std::size_t>(got);
    if (!write_sparse(to, {piece.data(), bytes}, at + shift)) return std::nullopt;
    at += bytes;
  }
}

bool append_rest_of_trace(const std::string& local, const std::string& shared) {
  if (!size_of(local)) return false;
  const OpenCopy from(local, O_RDONLY);
  OpenCopy to(shared, O_WRONLY | O_CREAT);
  if (!from.is_open() || !to.is_open()) return false;
  // From the beginning: the copy may have holes below its size, if its client was killed.
  const auto size = copy_bytes(from.get(), to.get(), 0, 0);
  return size && ::ftruncate(to.get(), static_cast<off_t>(*size)) == 0 && ::fdatasync(to.get()) == 0 &&
         to.close();
}

bool write_rest(const std::string& local, const std::string& shared) {
  format::RestHeader header{};
  std::memcpy(header.magic, format::kRestMagic, sizeof header.magic);
  std::uint64_t end = format::kPage;
  std::optional<OpenCopy> to;
  for (const char* const suffix : format::kOtherSuffixes) {
    if (size_of(local + suffix).value_or(0) == 0) continue;
    if (!to) to.emplace(shared + format::kRestSuffix, O_WRONLY | O_CREAT);
    const OpenCopy from(local + suffix, O_RDONLY);
    if (size_of(local + format::kCopiedSuffix))
      return false; // another process was faster, and its copy is whole
    const auto bytes =
        from.is_open() && to->is_open() ? copy_bytes(from.get(), to->get(), 0, end) : std::nullopt;
    if (!bytes) return false;
    format::RestPart& part = header.part[header.parts++];
    std::memcpy(part.suffix, suffix, std::strlen(suffix));
    part.offset = end;
    part.bytes = *bytes;
    end += (*bytes + format::kPage - 1) / format::kPage * format::kPage;
  }
  if (!to) return true;
  // The parts reach the server before the header that names them.
  return ::fdatasync(to->get()) == 0 &&
         write_sparse(to->get(), {reinterpret_cast<const char*>(&header), sizeof header}, 0) &&
         ::fdatasync(to->get()) == 0 && to->close();
}

// The header of the rings stays: the next attempt reads from it how this one ended. A process may still have
// the ring file mapped, so another file takes its name.
void remove_local(const std::string& local) {
  std::uint64_t bytes = size_of(local + ".memtrace").value_or(0);
  for (const char* const suffix : format::kOtherSuffixes) bytes += size_of(local + suffix).value_or(0);
  const OpenCopy copied(local + format::kCopiedSuffix, O_WRONLY | O_CREAT | O_EXCL);
  if (!copied.is_open() && errno != EEXIST) return;
  if (copied.is_open() && ::ftruncate(copied.get(), static_cast<off_t>(bytes)) != 0) return;
  for (const char* const suffix : format::kOtherSuffixes) {
    if (std::string_view(suffix) != ".rings") {
      ::unlink((local + suffix).c_str());
      continue;
    }
    const OpenCopy rings(local + suffix, O_RDONLY);
    std::string header(format::kPage, '\0');
    if (rings.is_open() && ::pread(rings.get(), header.data(), header.size(), 0) > 0)
      replace(local + suffix, header);
  }
  ::unlink((local + ".memtrace").c_str()); // the last: without it, nothing is left to copy
}

} // namespace

bool move_trace(const std::string& local, const std::string& shared) {
  if (size_of(local +
              format::kCopiedSuffix)) { // copied by a process that was killed while it removed the files
    remove_local(local);
    return true;
  }
  if (!append_rest_of_trace(local + ".memtrace", shared + ".memtrace")) return false;
  if (!write_rest(local, shared)) return false;
  remove_local(local);
  return true;
}

bool copy_small_file(const std::string& from, const std::string& to) {
  if (size_of(to)) return true;
  const auto text = read_found(from, kMiB);
  return text && append(to, *text);
}

bool move_small_file(const std::string& from, const std::string& to) {
  const auto text = read_found(from, kMiB);
  return text && append(to, *text) && ::unlink(from.c_str()) == 0;
}

double written_at(const std::string& path) {
  const std::string stem = path.substr(0, path.rfind('.'));
  double last = 0;
  std::vector<std::string> names = {path};
  for (unsigned i = 0; i < format::kWindowFiles; ++i) names.push_back(fmt::format("{}.window-{}", stem, i));
  for (const std::string& name : names) {
    struct stat status {};
    if (::lstat(name.c_str(), &status) != 0) continue;
    last = std::max(
        last, static_cast<double>(status.st_mtim.tv_sec) + static_cast<double>(status.st_mtim.tv_nsec) / 1e9);
  }
  return last;
}

} // namespace memtrace::files
