// Purpose: the executable that a command starts: the program itself, or the interpreter of a script.
#include "analyzer/cli/run/executable.h"

#include <elf.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "analyzer/cli/common/program_file.h"
#include "analyzer/files/reading.h"

namespace memtrace::cli {
namespace {

constexpr int kMostScripts = 4; // the kernel's limit of scripts that name scripts
constexpr std::size_t kMostPath = 4096;

// Returns `bytes` bytes of a file, fewer at its end.
std::string part(int fd, std::uint64_t offset, std::size_t bytes) {
  std::string out(bytes, '\0');
  const ssize_t got = ::pread(fd, out.data(), bytes, static_cast<off_t>(offset));
  out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return out;
}

// Reads the class and the loader of an ELF file.
void read_elf(int fd, Executable& out) {
  const std::string first = part(fd, 0, sizeof(Elf64_Ehdr));
  Elf64_Ehdr header{};
  if (first.size() < sizeof header || !first.starts_with(std::string_view(ELFMAG, SELFMAG))) return;
  std::memcpy(&header, first.data(), sizeof header);
  out.bits = header.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
  if (out.bits == 32 || header.e_phentsize != sizeof(Elf64_Phdr)) return;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    const std::string bytes = part(fd, header.e_phoff + i * sizeof segment, sizeof segment);
    if (bytes.size() < sizeof segment) return;
    std::memcpy(&segment, bytes.data(), sizeof segment);
    if (segment.p_type != PT_INTERP || segment.p_filesz > kMostPath) continue;
    const std::string name = part(fd, segment.p_offset, segment.p_filesz);
    out.loader = name.substr(0, name.find('\0'));
    return;
  }
}

} // namespace

Executable executable_of(const std::string& program) {
  Executable out;
  std::string name = program;
  for (int i = 0; i < kMostScripts && !name.empty(); ++i) {
    out.path = found_in_path(name);
    name = interpreter_of(out.path);
  }
  std::string why;
  const int fd = files::open_to_read(out.path, files::Origin::system, why);
  if (fd < 0) return out;
  read_elf(fd, out);
  ::close(fd);
  return out;
}

bool is_musl(const std::string& loader) {
  return loader.substr(loader.rfind('/') + 1).starts_with("ld-musl-");
}

} // namespace memtrace::cli
