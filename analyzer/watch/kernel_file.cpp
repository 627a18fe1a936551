// Purpose: a file of the kernel that stays open and is read many times.
#include "analyzer/watch/kernel_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "analyzer/files/reading.h"

namespace memtrace::watch {
namespace {

constexpr std::size_t kMost = 16384; // memory.stat has 2 KiB, meminfo less

std::optional<std::uint64_t> leading_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

} // namespace

KernelFile::KernelFile(const std::string& path) {
  std::string why;
  descriptor_ = files::open_to_read(path, files::Origin::system, why);
}

KernelFile::~KernelFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

KernelFile::KernelFile(KernelFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), buffer_(std::move(other.buffer_)) {}

KernelFile& KernelFile::operator=(KernelFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

std::string_view KernelFile::text() {
  if (descriptor_ < 0) return {};
  buffer_.resize(kMost);
  ssize_t got = 0;
  do {
    got = ::pread(descriptor_, buffer_.data(), buffer_.size(), 0);
  } while (got < 0 && errno == EINTR);
  return {buffer_.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

std::optional<std::uint64_t> KernelFile::number() {
  return leading_number(text());
}

std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with(key)) continue;
    std::string_view rest = line.substr(key.size());
    if (rest.empty() || (rest.front() != ' ' && rest.front() != ':' && rest.front() != '\t')) continue;
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(": \t")));
    return leading_number(rest);
  }
  return std::nullopt;
}

} // namespace memtrace::watch
