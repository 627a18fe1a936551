// Room: record. Any thread.
// Job: what valgrind is asked and told, by its client requests.
#include "record/valgrind.h"

#include <elf.h>
#include <link.h>

#include "record/forbidden.h"

// The first byte of the object that this is linked into: the linker's name.
extern "C" __attribute__((visibility("hidden"))) const ElfW(Ehdr) __ehdr_start;

namespace memtrace::record {

constinit bool under_valgrind = false;

namespace {

constexpr unsigned long kHelgrindUntracked = 0x48470127; // ARANGE_MAKE_UNTRACKED
constexpr unsigned long kDrdSuppressed = 0x44520002;     // START_SUPPRESSION

// The writable segments of this library: hooks read words there before they enter the recorder.
void exempt_globals() {
  const auto base = reinterpret_cast<unsigned long>(&__ehdr_start);
  const auto* const headers = reinterpret_cast<const ElfW(Phdr)*>(base + __ehdr_start.e_phoff);
  for (int i = 0; i < __ehdr_start.e_phnum; ++i) {
    if (headers[i].p_type != PT_LOAD || (headers[i].p_flags & PF_W) == 0) continue;
    exempt_from_races(reinterpret_cast<const void*>(base + headers[i].p_vaddr), headers[i].p_memsz);
  }
}

} // namespace

void find_valgrind() {
  if (under_valgrind || ask_valgrind(kValgrindRuns) == 0) return;
  under_valgrind = true;
  exempt_globals();
}

void exempt_from_races(const void* start, std::size_t bytes) {
  if (!under_valgrind || start == nullptr) return;
  ask_valgrind(kHelgrindUntracked, reinterpret_cast<unsigned long>(start), bytes);
  ask_valgrind(kDrdSuppressed, reinterpret_cast<unsigned long>(start), bytes);
}

} // namespace memtrace::record
