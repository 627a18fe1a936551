// Purpose: reads files, at offsets or whole: files that the user names, and files that memtrace finds by
// itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memtrace::files {

enum class Origin : std::uint8_t {
  named,  // by the user: memtrace follows links and reads a pipe to its end
  found,  // beside a trace, where another user may have put a file: must be a regular file and not a link
  system, // of this machine: /proc, /sys, programs, libraries: must be a regular file; memtrace follows links
};

inline constexpr std::uint64_t kMiB = 1 << 20;
inline constexpr int kPatienceMs = 20'000; // longest wait between two pieces of a pipe

// Returns a descriptor for reading at offsets, which the caller closes, or -1 with the reason in `why`. Copies
// the content of a pipe into memory first. No open waits for another process.
int open_to_read(const std::string& path, Origin origin, std::string& why, int patience_ms = kPatienceMs);

// Returns the whole file, or nullopt with the reason in `why` if it is unreadable or has more than `most`
// bytes.
std::optional<std::string> read(const std::string& path, Origin origin, std::uint64_t most, std::string& why,
                                int patience_ms = kPatienceMs);
std::optional<std::string> read_found(const std::string& path, std::uint64_t most);
std::optional<std::string> read_system(const std::string& path);
std::string system_text(const std::string& path); // returns "" if the file cannot be read

// Returns the names of the regular files in a directory, or in a packed file, sorted, with those that a
// STEM.rest has. Leaves out links, because another user may have put them there. Empty if it cannot be read.
std::vector<std::string> names_in(const std::string& directory);

// Returns a descriptor of /dev/kmsg, the only device that memtrace reads. It never blocks, and the caller
// closes it. Returns -1 without permission.
int open_kernel_log();

} // namespace memtrace::files
