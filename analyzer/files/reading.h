// Purpose: files to read, at offsets or whole: those that the user names, and those that memtrace finds by
// itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace memtrace::files {

enum class Origin : std::uint8_t {
  named,  // by the user: links are followed, and a pipe is read to its end
  found,  // beside a trace or in its directory, where another user may have put it: a regular file, and no link
  system, // of this machine: /proc, /sys, programs and libraries: a regular file, links are followed
};

inline constexpr std::uint64_t kMiB = 1 << 20;
inline constexpr int kPatienceMs = 20'000; // between two pieces of a pipe

// A descriptor for reading at offsets, which the caller closes; -1, with the reason in `why`. What comes by a
// pipe is first copied into memory. No open waits for another process.
int open_to_read(const std::string& path, Origin origin, std::string& why, int patience_ms = kPatienceMs);

// The whole file; none, with the reason in `why`, if it cannot be read or has more than `most` bytes.
std::optional<std::string> read(const std::string& path, Origin origin, std::uint64_t most, std::string& why,
                                int patience_ms = kPatienceMs);
std::optional<std::string> read_found(const std::string& path, std::uint64_t most);
std::optional<std::string> read_system(const std::string& path);
std::string system_text(const std::string& path); // "" where it cannot be read

// /dev/kmsg, the one device that is read: a descriptor that never waits, which the caller closes; -1 if it may
// not be.
int open_kernel_log();

} // namespace memtrace::files
