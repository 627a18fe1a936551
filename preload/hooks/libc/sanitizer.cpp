// Purpose: records the blocks of a sanitizer's allocator, which replaces malloc before memtrace; and hides
// memtrace's globals from its leak checker.
// Runs: inside the allocator of a sanitizer's runtime, which holds no lock then.
#include "preload/hooks/libc/sanitizer.h"

#include <cstddef>

#include "preload/blocks/recording.h"
#include "preload/blocks/small_blocks.h"
#include "preload/hooks/symbols/find_symbol.h"
#include "preload/os/libc/elf_tables.h"
#include "preload/os/mappings.h"
#include "preload/os/timestamp.h"
#include "preload/state/recorder_state.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks {
namespace {

// sanitizer/allocator_interface.h, equal in ASan, LSan, MSan and TSan.
using Install = int (*)(void (*born)(const volatile void*, std::size_t), void (*dies)(const volatile void*));
using Owns = int (*)(const volatile void*);
using SizeOf = std::size_t (*)(const volatile void*);

constinit Owns owns = nullptr;
constinit SizeOf size_of = nullptr;

// The given size of a sanitizer's block is the requested size, as its malloc_usable_size returns it.
record::HookedBlock block_of(const volatile void* p, std::size_t bytes, std::size_t asked) {
  return {reinterpret_cast<std::uint64_t>(p), bytes, asked, format::Kind::heap};
}

void born(const volatile void* p, std::size_t bytes) {
  if (p == nullptr || !record::active()) return;
  record::check_raw_fork();
  if (!record::tracked(bytes)) return record::small_born(bytes, reinterpret_cast<std::uint64_t>(p), bytes);
  const record::Recording here;
  if (!here) return record::block_not_recorded(bytes, 0);
  here.born(block_of(p, bytes, bytes));
}

// Called before a block dies, and also for a block that is dead already. The runtime ends the program if the
// size of a dead block is queried; it reports the second free itself.
void dies(const volatile void* p) {
  if (p == nullptr || !record::active() || owns(p) == 0) return;
  record::check_raw_fork();
  const std::size_t bytes = size_of(p);
  if (!record::tracked(bytes)) {
    record::small_died(bytes);
    if (record::maybe_tracked(const_cast<const void*>(p)))
      record::sampled_dies(reinterpret_cast<std::uint64_t>(p), bytes);
    return;
  }
  const record::Recording here;
  if (!here) return record::block_not_recorded(0, bytes);
  here.died(block_of(p, bytes, 0), record::draw_stamp());
}

} // namespace

// The loader has already read these program headers. A leak checker reads them again when it walks the loaded
// objects.
void hide_globals_from_leak_checkers() {
  const record::ProgramHeaders own = record::own_segments();
  for (std::size_t i = 0; i < own.count; ++i) {
    ElfW(Phdr)& header = own.headers[i];
    if (header.p_type == PT_LOAD && (header.p_flags & PF_W) != 0 &&
        record::os::make_writable(&header, sizeof header))
      header.p_flags &= ~static_cast<ElfW(Word)>(PF_W);
  }
}

bool blocks_come_from_sanitizer() {
  Install install = nullptr;
  find_first(&install, "__sanitizer_install_malloc_and_free_hooks");
  find_first(&owns, "__sanitizer_get_ownership");
  find_first(&size_of, "__sanitizer_get_allocated_size");
  return install != nullptr && owns != nullptr && size_of != nullptr && install(&born, &dies) != 0;
}

} // namespace memtrace::hooks
