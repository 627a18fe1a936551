// Purpose: this test program as a module of a trace, so that its functions can be looked up by address.
#include "own_module.h"

#include <link.h>

#include <cstring>

namespace memtrace::tests {

OwnModule own_module() {
  OwnModule out;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto* found = static_cast<OwnModule*>(data);
        found->bias = info->dlpi_addr;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& header = info->dlpi_phdr[i];
          if (header.p_type != PT_NOTE) continue;
          const auto* at = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr);
          const char* end = at + header.p_memsz;
          while (at + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const char* content = at + sizeof note + ((note.n_namesz + 3) & ~3u);
            if (note.n_type == NT_GNU_BUILD_ID) found->build_id.assign(content, content + note.n_descsz);
            at = content + ((note.n_descsz + 3) & ~3u);
          }
        }
        return 1; // the program itself comes first
      },
      &out);
  return out;
}

} // namespace memtrace::tests
