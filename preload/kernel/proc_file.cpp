// Purpose: reads figures from small text files: of /proc, of cgroups, of other processes of the job.
// Runs: on the background thread; before that thread starts, on the thread that begins to record.
#include "preload/kernel/proc_file.h"

#include <cstring>

#include "preload/bounded/fixed_string.h"
#include "preload/format/records.h"
#include "preload/os/files.h"

namespace memtrace::record {

using format::kNotSaid;

namespace {

constexpr std::size_t kFileBytes = 16 * 1024;

constinit char file_text[kFileBytes];
constinit Path joined{}; // static, because the stack may be small

const char* text_of(long fd) {
  if (fd < 0) return nullptr;
  const long bytes = os::read_all(fd, file_text, kFileBytes - 1);
  os::close(fd);
  if (bytes < 0) return nullptr;
  file_text[bytes] = '\0';
  return file_text;
}

} // namespace

const char* read_kernel_file(const char* path) {
  return text_of(os::open_kernel(path));
}

const char* read_own_file(const char* path) {
  return text_of(os::open_own(path, os::For::reading));
}

const char* read_kernel_file(const char* directory, std::size_t bytes, const char* name) {
  joined.clear();
  return read_kernel_file(joined.add(directory, bytes).add("/").add(name).text());
}

std::uint64_t number_at(const char* text) {
  while (*text == ' ' || *text == '\t') ++text;
  if (*text < '0' || *text > '9') return kNotSaid;
  std::uint64_t value = 0;
  for (; *text >= '0' && *text <= '9'; ++text) value = value * 10 + static_cast<std::uint64_t>(*text - '0');
  return value;
}

std::uint64_t hexadecimal_at(const char* text) {
  std::uint64_t value = 0;
  for (;; ++text) {
    const char c = *text;
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return value;
    value = value * 16 + static_cast<std::uint64_t>(digit);
  }
}

std::uint32_t hundredths_at(const char* text) {
  std::uint32_t value = 0;
  for (; *text >= '0' && *text <= '9'; ++text) value = value * 10 + static_cast<std::uint32_t>(*text - '0');
  if (*text == '.') ++text;
  for (int place = 0; place < 2; ++place) {
    const bool digit = *text >= '0' && *text <= '9';
    value = value * 10 + (digit ? static_cast<std::uint32_t>(*text++ - '0') : 0);
  }
  return value;
}

const char* line_after(const char* text, const char* key) {
  const std::size_t bytes = std::strlen(key);
  for (const char* line = text; line != nullptr && *line != '\0';) {
    if (std::strncmp(line, key, bytes) == 0) return line + bytes;
    line = std::strchr(line, '\n');
    if (line != nullptr) ++line;
  }
  return nullptr;
}

std::uint64_t number_after(const char* text, const char* key) {
  const char* const at = line_after(text, key);
  return at == nullptr ? kNotSaid : number_at(at);
}

std::uint64_t kib_after(const char* text, const char* key) {
  const std::uint64_t value = number_after(text, key);
  return value == kNotSaid ? kNotSaid : value * 1024;
}

} // namespace memtrace::record
