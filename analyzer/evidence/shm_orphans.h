// Purpose: the files that processes left in /dev/shm: their sizes, their holders and their creators.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

using FileId = std::pair<std::uint64_t, std::uint64_t>; // device, inode

struct SharedFile {
  std::string name;
  std::uint64_t bytes = 0; // memory of its pages
  std::uint64_t size = 0;  // its length
  double made = 0;         // creation time: seconds, unix; equals `changed` if the kernel does not report it
  double changed = 0;      // when its length or content last changed
  FileId id;
};

// Returns regular files, largest first, at most kMostFiles.
inline constexpr std::size_t kMostFiles = 4096;
std::vector<SharedFile> shared_files(const std::string& directory = "/dev/shm");

// The facts that living processes show about such files.
struct Living {
  std::set<FileId> held;      // mapped, or open
  std::set<std::string> jobs; // jobs that these processes were started in, without the querying process
  std::uint64_t unseen = 0;   // processes that may hold more but could not be inspected; kUnknown: any number
};
Living living(const std::string& processes = "/proc");

// A process that may have created files.
struct ShmMapping {
  double unix = 0;
  std::uint64_t bytes = 0;
};
struct ShmCreator {
  std::uint64_t pid = 0; // its pid in its own pid namespace
  double began = 0, last = 0;
  std::vector<ShmMapping> mapped; // shared memory, in the order of time
};

// Returns the pid in a file name of PyTorch, torch_PID_RANDOM_NUMBER, or nullopt for other names.
std::optional<std::uint64_t> pid_in(std::string_view name);

bool in_life(const SharedFile& file, const ShmCreator& maker);

// Returns the file as an orphan of this process, or nullopt if the process did not create it. The pid in the
// name decides. For a name without a pid, the process must have mapped as many bytes when the file was created.
// The age of a file alone proves nothing.
std::optional<ShmOrphan> claim(const SharedFile& file, const ShmCreator& maker);

} // namespace memtrace::evidence
