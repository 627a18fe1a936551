// Purpose: reads files, at offsets or whole: files that the user names, and files that memtrace finds by
// itself.
#include "analyzer/files/reading.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <vector>

#include "analyzer/files/packed_files.h"
#include "analyzer/files/rest_files.h"
#include "preload/format/shared_files.h"

namespace memtrace::files {
namespace {

constexpr std::uint64_t kMostPiped = 1024 * kMiB; // bytes of a trace from a pipe: memory holds them
constexpr std::uint64_t kMostSystem = 64 * kMiB;  // bytes of a file in /proc: a million mappings
constexpr std::size_t kPiece = 1 << 16;

std::string in_mebibytes(std::uint64_t bytes) {
  return bytes < kMiB ? std::to_string(bytes) + " bytes" : std::to_string(bytes / kMiB) + " MiB";
}

// Waits until a pipe has bytes or its other end is gone.
bool wait_for_bytes(int fd, int patience_ms) {
  pollfd waiting{fd, POLLIN, 0};
  int ready;
  do {
    ready = ::poll(&waiting, 1, patience_ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

// Passes each piece that arrives to `take`, which returns false if it has no room.
template <class Take>
bool each_piece(int fd, bool pipe, std::uint64_t most, int patience_ms, std::string& why, Take take) {
  std::vector<char> piece(kPiece);
  std::uint64_t bytes = 0;
  bool ready = !pipe;
  for (;;) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got > 0) {
      bytes += static_cast<std::uint64_t>(got);
      if (bytes > most) {
        why = "has more than " + in_mebibytes(most);
        return false;
      }
      if (take(piece.data(), static_cast<std::size_t>(got))) continue;
      why = std::strerror(errno);
      return false;
    }
    // A pipe that has no byte and no writer may have a writer that has not opened it yet.
    if (got == 0 && (bytes != 0 || ready)) return true;
    if (got < 0 && errno != EAGAIN) {
      why = std::strerror(errno);
      return false;
    }
    ready = wait_for_bytes(fd, patience_ms);
    if (ready) continue;
    why = "no byte came for " + std::to_string(patience_ms / 1000) + " s";
    return false;
  }
}

int refuse(int fd, const char* reason, std::string& why) {
  why = reason;
  ::close(fd);
  return -1;
}

// Returns the open file, or -1 with the reason in `why`. `status` shows whether it is a pipe.
int open_checked(const std::string& path, Origin origin, struct stat& status, std::string& why) {
  const int link = origin == Origin::found ? O_NOFOLLOW : 0;
  const PackedFiles& packed = PackedFiles::of_command();
  int fd = packed.holds(path) ? packed.open(path)
                              : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | link);
  if (fd < 0 && errno == ENOENT && origin != Origin::system) fd = open_in_rest(path);
  if (fd < 0) {
    why = errno == ELOOP && link != 0 ? "it is a link" : std::strerror(errno);
    return -1;
  }
  if (::fstat(fd, &status) != 0) return refuse(fd, std::strerror(errno), why);
  if (S_ISREG(status.st_mode)) return fd;
  if (origin == Origin::named) {
    if (S_ISFIFO(status.st_mode)) return fd;
    return refuse(
        fd, S_ISDIR(status.st_mode) ? "expected a file, not a directory" : "expected a file or a pipe", why);
  }
  return refuse(fd, "expected a regular file", why);
}

bool write_fully(int fd, const char* at, std::size_t bytes) {
  while (bytes != 0) {
    const ssize_t put = ::write(fd, at, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    bytes -= static_cast<std::size_t>(put);
  }
  return true;
}

// Returns a copy in memory of the content of `pipe`, and closes `pipe`. Returns -1 with the reason in `why`.
int in_memory(int pipe, int patience_ms, std::string& why) {
  const int copy = ::memfd_create("memtrace", MFD_CLOEXEC);
  if (copy < 0) return refuse(pipe, std::strerror(errno), why);
  const bool whole =
      each_piece(pipe, true, kMostPiped, patience_ms, why,
                 [copy](const char* at, std::size_t bytes) { return write_fully(copy, at, bytes); });
  ::close(pipe);
  if (whole) return copy;
  ::close(copy);
  return -1;
}

} // namespace

int open_to_read(const std::string& path, Origin origin, std::string& why, int patience_ms) {
  struct stat status {};
  const int fd = open_checked(path, origin, status, why);
  return fd < 0 || S_ISREG(status.st_mode) ? fd : in_memory(fd, patience_ms, why);
}

std::optional<std::string> read(const std::string& path, Origin origin, std::uint64_t most, std::string& why,
                                int patience_ms) {
  struct stat status {};
  const int fd = open_checked(path, origin, status, why);
  if (fd < 0) return std::nullopt;
  std::string text;
  bool whole =
      // otherwise a sparse file of 1 TiB would be read up to `most`
      static_cast<std::uint64_t>(status.st_size) <= most;
  if (!whole) why = "has more than " + in_mebibytes(most);
  if (whole) {
    whole = each_piece(fd, !S_ISREG(status.st_mode), most, patience_ms, why,
                       [&text](const char* at, std::size_t n) {
                         text.append(at, n);
                         return true;
                       });
  }
  ::close(fd);
  if (!whole) return std::nullopt;
  return text;
}

std::optional<std::string> read_found(const std::string& path, std::uint64_t most) {
  std::string why;
  return read(path, Origin::found, most, why);
}

std::optional<std::string> read_system(const std::string& path) {
  std::string why;
  return read(path, Origin::system, kMostSystem, why);
}

std::string system_text(const std::string& path) {
  return read_system(path).value_or("");
}

std::vector<std::string> names_in(const std::string& directory) {
  const PackedFiles& packed = PackedFiles::of_command();
  if (packed.has(directory)) return packed.names(directory);
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    if (fs::is_regular_file(at->symlink_status(unknown))) out.push_back(at->path().filename().string());
  }
  std::set<std::string> all(out.begin(), out.end());
  for (const std::string& name : out) {
    if (!name.ends_with(format::kRestSuffix)) continue;
    for (std::string& one : names_in_rest((fs::path(directory) / name).string())) all.insert(std::move(one));
  }
  return {all.begin(), all.end()};
}

int open_kernel_log() {
  return ::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
}

} // namespace memtrace::files
