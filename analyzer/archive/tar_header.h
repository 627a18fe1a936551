// Purpose: the header of a member of a tar file (POSIX ustar).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memtrace::archive {

inline constexpr std::size_t kTarBlock = 512;
inline constexpr std::size_t kLongestTarName = 100;
inline constexpr std::uint64_t kLargestTarMember = (std::uint64_t{1} << 33) - 1; // 11 octal digits

// Returns the bytes after a member of this size up to the next block.
constexpr std::uint64_t tar_padding(std::uint64_t bytes) {
  return (kTarBlock - bytes % kTarBlock) % kTarBlock;
}

// Returns the header of a regular file without owner and time, so equal contents give equal bytes. `name` has
// at most kLongestTarName bytes, and `bytes` is at most kLargestTarMember.
std::string tar_header(std::string_view name, std::uint64_t bytes);

struct TarMember {
  std::string name;
  std::uint64_t bytes = 0;
};

// Returns nullopt with what was expected in `expected` if the block is not the header of a regular file with a
// plain name: no folder, not hidden, not a link.
std::optional<TarMember> parse_tar_header(std::string_view block, std::string& expected);

} // namespace memtrace::archive
