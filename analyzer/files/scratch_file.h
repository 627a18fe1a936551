// Purpose: a file without a name for bytes that would take too much memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace memtrace::files {

class ScratchFile {
 public:
  ScratchFile() = default;
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  // Returns false, with errno set, if the bytes could not be stored.
  bool append(std::string_view bytes);
  std::uint64_t bytes() const { return bytes_; }
  // Gives `take` the content, piece by piece. Returns false, with errno set, if it could not be read.
  bool each_piece(const std::function<void(std::string_view)>& take) const;

 private:
  int fd_ = -1;
  std::uint64_t bytes_ = 0;
};

} // namespace memtrace::files
