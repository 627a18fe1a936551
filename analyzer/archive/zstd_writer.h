// Purpose: compresses bytes with zstd into a new file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "analyzer/files/writing.h"

namespace memtrace::archive {

class ZstdWriter {
 public:
  // `content_bytes`: about how many bytes follow. Throws std::runtime_error with one line if the file cannot be
  // written, here and later.
  ZstdWriter(const std::string& path, std::uint64_t content_bytes);
  ~ZstdWriter();
  ZstdWriter(const ZstdWriter&) = delete;
  ZstdWriter& operator=(const ZstdWriter&) = delete;

  void write(std::string_view bytes);
  // Ends the file and gives it its name. Without this call there is no file. Returns its bytes.
  std::uint64_t finish();

 private:
  struct State;

  void compress(std::string_view bytes, bool last);
  [[noreturn]] void refuse(const char* why) const;
  [[noreturn]] void refuse_file() const; // errno says why

  std::string path_;
  files::NewFile file_;
  std::unique_ptr<State> state_;
  std::uint64_t file_bytes_ = 0;
};

} // namespace memtrace::archive
