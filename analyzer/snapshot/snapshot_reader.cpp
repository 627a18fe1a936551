// Purpose: opens a memory snapshot of PyTorch: its history becomes a trace that the command can read.
#include "analyzer/snapshot/snapshot_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "analyzer/decode/read_error.h"
#include "analyzer/files/packed_files.h"
#include "analyzer/files/read_budget.h"
#include "analyzer/files/reading.h"
#include "analyzer/snapshot/pickle_reader.h"
#include "analyzer/snapshot/translation.h"

namespace memtrace::snapshot {
namespace {

constexpr char kTraceName[] = "snapshot.memtrace";

// Returns "" if it is not a regular file that begins like a pickle.
std::string content_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  std::string why;
  const int fd = files::open_to_read(path, files::Origin::named, why);
  if (fd < 0) return "";
  char start[2] = {};
  const ssize_t got = ::pread(fd, start, sizeof start, 0);
  ::close(fd);
  if (got != static_cast<ssize_t>(sizeof start) || !begins_as_pickle({start, sizeof start})) return "";
  constexpr std::uint64_t kUnit = 512; // of st_blocks
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  files::Budget::of_command().reads(path, status.st_dev, status.st_ino,
                                    std::min(bytes, kUnit * static_cast<std::uint64_t>(status.st_blocks)));
  files::Budget::of_command().about(path);
  std::optional<std::string> whole =
      files::read(path, files::Origin::named, std::max<std::uint64_t>(bytes, 1), why);
  if (!whole) throw trace::ReadError(path, 0, "expected a readable file: " + why);
  return *std::move(whole);
}

} // namespace

std::string open(const std::string& path) {
  std::string trace = path + "/" + kTraceName;
  files::PackedFiles& files = files::PackedFiles::of_command();
  if (files.holds(trace)) return trace;
  std::string content = content_of(path);
  if (content.empty()) return "";
  const PickleTree tree = PickleReader(path, std::move(content)).read();
  std::string last;
  translate(tree, path, kTraceName, [&](const std::string& name, std::string_view part) {
    if (name != last) files.add(path, last = name);
    if (!files.append(part))
      throw std::runtime_error(path + ": cannot be translated (" + std::strerror(errno) +
                               "); set TMPDIR to a directory with more room");
  });
  return trace;
}

} // namespace memtrace::snapshot
