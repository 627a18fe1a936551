// Purpose: the functions of one ELF file, by address.
#include "analyzer/symbols/elf_symbols.h"

#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "analyzer/files/reading.h"

namespace memtrace::symbols {

ElfSymbols::ElfSymbols(const std::string& path, std::span<const std::uint8_t> build_id) {
  elf_version(EV_CURRENT);
  std::string why;
  descriptor_ = files::open_to_read(path, files::Origin::system, why);
  if (descriptor_ < 0) return;
  elf_ = elf_begin(descriptor_, ELF_C_READ_MMAP, nullptr);
  if (elf_ == nullptr || elf_kind(elf_) != ELF_K_ELF) {
    state_ = Outcome::not_elf;
    return;
  }
  if (!build_id.empty() && !same_build(build_id)) {
    state_ = Outcome::other_build;
    return;
  }
  state_ = Outcome::good;
  read_table(SHT_SYMTAB);
  if (functions_.empty()) read_table(SHT_DYNSYM);
  std::sort(functions_.begin(), functions_.end(), [](const FunctionSymbol& a, const FunctionSymbol& b) {
    if (a.address != b.address) return a.address < b.address;
    if (a.local != b.local) return b.local; // among aliases, the public name comes first, then the shorter one
    const std::size_t a_length = std::strlen(a.name);
    const std::size_t b_length = std::strlen(b.name);
    return a_length != b_length ? a_length < b_length : std::strcmp(a.name, b.name) < 0;
  });
  functions_.erase(
      std::unique(functions_.begin(), functions_.end(),
                  [](const FunctionSymbol& a, const FunctionSymbol& b) { return a.address == b.address; }),
      functions_.end());
}

ElfSymbols::~ElfSymbols() {
  if (elf_ != nullptr) elf_end(elf_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool ElfSymbols::same_build(std::span<const std::uint8_t> build_id) const {
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf_, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_NOTE) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    std::size_t at = 0;
    GElf_Nhdr note;
    std::size_t name = 0;
    std::size_t content = 0;
    while (data != nullptr && (at = gelf_getnote(data, at, &note, &name, &content)) > 0) {
      if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4) continue;
      const auto* bytes = static_cast<const char*>(data->d_buf);
      if (std::memcmp(bytes + name, "GNU", 4) != 0) continue;
      // The trace stores at most 20 bytes of the build id.
      return note.n_descsz >= build_id.size() &&
             std::memcmp(bytes + content, build_id.data(), build_id.size()) == 0;
    }
  }
  return false;
}

void ElfSymbols::read_table(std::uint32_t type) {
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf_, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != type || header.sh_entsize == 0) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr) continue;
    const std::size_t count = data->d_size / header.sh_entsize;
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
      const unsigned kind = GELF_ST_TYPE(symbol.st_info);
      if (symbol.st_shndx == SHN_UNDEF || (kind != STT_FUNC && kind != STT_GNU_IFUNC)) continue;
      const char* name = elf_strptr(elf_, header.sh_link, symbol.st_name);
      if (name == nullptr || *name == '\0') continue;
      functions_.push_back({symbol.st_value, symbol.st_size, name, GELF_ST_BIND(symbol.st_info) == STB_LOCAL});
    }
  }
}

const char* ElfSymbols::function(std::uint64_t address) const {
  auto after = std::upper_bound(
      functions_.begin(), functions_.end(), address,
      [](std::uint64_t value, const FunctionSymbol& function) { return value < function.address; });
  if (after == functions_.begin()) return nullptr;
  const FunctionSymbol& function = *std::prev(after);
  const bool covers = function.size == 0 || address - function.address < function.size;
  return covers ? function.name : nullptr;
}

} // namespace memtrace::symbols
