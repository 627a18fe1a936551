// Purpose: a file of the kernel that stays open and is read many times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memtrace::watch {

class KernelFile {
 public:
  explicit KernelFile(const std::string& path);
  ~KernelFile();
  KernelFile(KernelFile&& other) noexcept;
  KernelFile& operator=(KernelFile&& other) noexcept;
  KernelFile(const KernelFile&) = delete;
  KernelFile& operator=(const KernelFile&) = delete;

  // Returns the text as it is now. Valid until the next call. Returns "" if the file cannot be read, for
  // example because its cgroup is gone.
  std::string_view text();
  // Returns the number that the file consists of. Returns nullopt for "max" and for a file without a number.
  std::optional<std::uint64_t> number();
  int descriptor() const { return descriptor_; } // below 0: not open

 private:
  int descriptor_;
  std::string buffer_;
};

// Returns the number behind `key` at the start of a line, behind a colon and blanks as well. Returns nullopt if
// there is none.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key);

} // namespace memtrace::watch
