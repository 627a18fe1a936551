// Purpose: decompresses a zstd file from its beginning to its end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace memtrace::archive {

inline constexpr int kMostWindowLog = 27; // 128 MiB of memory: what zstd's own command accepts, too

// True if the file is a regular file that begins as a zstd file does.
bool is_zstd(const std::string& path);

class ZstdReader {
 public:
  // Throws trace::ReadError if the file cannot be opened.
  explicit ZstdReader(const std::string& path);
  ~ZstdReader();
  ZstdReader(const ZstdReader&) = delete;
  ZstdReader& operator=(const ZstdReader&) = delete;

  // Returns the number of bytes read. It is less than `bytes` at the end of the content, or where the file was
  // cut off: then cut() is true. Throws trace::ReadError if the bytes are not those of a zstd file, or if a
  // checksum is wrong.
  std::size_t read(char* out, std::size_t bytes);

  bool cut() const { return cut_; }
  std::uint64_t file_bytes() const { return file_bytes_; }
  std::uint64_t content_bytes() const { return content_bytes_; } // so far

 private:
  struct State;

  bool refill();

  std::string path_;
  int descriptor_ = -1;
  std::unique_ptr<State> state_;
  bool cut_ = false;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t read_bytes_ = 0; // of the file
  std::uint64_t content_bytes_ = 0;
};

} // namespace memtrace::archive
