// Purpose: the libraries that an ELF file needs.
#include "analyzer/symbols/needed_libraries.h"

#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include "analyzer/files/reading.h"

namespace memtrace::symbols {
namespace {

void add_needed(Elf* elf, Elf_Scn* section, std::vector<std::string>& out) {
  GElf_Shdr header;
  if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNAMIC) return;
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const auto entries = static_cast<int>(data->d_size / header.sh_entsize);
  for (int i = 0; i < entries; ++i) {
    GElf_Dyn entry;
    if (gelf_getdyn(data, i, &entry) == nullptr || entry.d_tag == DT_NULL) return;
    if (entry.d_tag != DT_NEEDED) continue;
    if (const char* const name = elf_strptr(elf, header.sh_link, entry.d_un.d_val)) out.emplace_back(name);
  }
}

} // namespace

std::vector<std::string> needed_libraries(const std::string& path) {
  std::vector<std::string> out;
  elf_version(EV_CURRENT);
  std::string why;
  const int descriptor = files::open_to_read(path, files::Origin::system, why);
  if (descriptor < 0) return out;
  if (Elf* const elf = elf_begin(descriptor, ELF_C_READ_MMAP, nullptr)) {
    if (elf_kind(elf) == ELF_K_ELF) {
      Elf_Scn* section = nullptr;
      while ((section = elf_nextscn(elf, section)) != nullptr) add_needed(elf, section, out);
    }
    elf_end(elf);
  }
  ::close(descriptor);
  return out;
}

} // namespace memtrace::symbols
