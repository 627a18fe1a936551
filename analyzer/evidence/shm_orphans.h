// Purpose: what processes left in /dev/shm: the files there, who holds them, and whose they are.
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
  std::uint64_t bytes = 0; // of memory: its pages
  std::uint64_t size = 0;  // its length
  double made = 0;         // seconds, unix; `changed` where the kernel does not say it
  double changed = 0;      // its length or what is in it, last
  FileId id;
};

// Regular files, largest first, at most kMostFiles.
inline constexpr std::size_t kMostFiles = 4096;
std::vector<SharedFile> shared_files(const std::string& directory = "/dev/shm");

// What the processes that live say of such files.
struct Living {
  std::set<FileId> held;      // mapped, or open
  std::set<std::string> jobs; // that they were started in; not of the one that asks
  std::uint64_t unseen =
      0; // processes that may hold more, for they could not be looked into; kUnknown: any number
};
Living living(const std::string& processes = "/proc");

// A process as one that may have made files.
struct ShmMapping {
  double unix = 0;
  std::uint64_t bytes = 0;
};
struct ShmCreator {
  std::uint64_t pid = 0; // as it saw it itself
  double began = 0, last = 0;
  std::vector<ShmMapping> mapped; // shared memory, in the order of time
};

// Of the names that PyTorch gives files: torch_PID_RANDOM_NUMBER.
std::optional<std::uint64_t> pid_in(std::string_view name);

bool in_life(const SharedFile& file, const ShmCreator& maker);

// That this process made it: by the pid in its name, or, of a name without one, since it mapped as much when
// the file was made. Its age alone says nothing.
std::optional<ShmOrphan> claim(const SharedFile& file, const ShmCreator& maker);

} // namespace memtrace::evidence
