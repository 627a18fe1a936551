// Purpose: queries valgrind and sends it client requests.
// Runs: on any thread.
#include "preload/os/libc/valgrind.h"

#include "preload/os/gate/start_page.h"
#include "preload/os/libc/elf_tables.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::record {

ON_START_PAGE constinit bool under_valgrind = false;
ON_START_PAGE constinit bool judged = false;

namespace {

constexpr unsigned long kHelgrindUntracked = 0x48470127; // ARANGE_MAKE_UNTRACKED
constexpr unsigned long kDrdSuppressed = 0x44520002;     // START_SUPPRESSION

// Exempts the writable segments of this library, because hooks read words there before they enter the recorder.
void exempt_globals() {
  const ProgramHeaders own = own_segments();
  for (std::size_t i = 0; i < own.count; ++i) {
    if (own.headers[i].p_type != PT_LOAD || (own.headers[i].p_flags & PF_W) == 0) continue;
    exempt_from_races(reinterpret_cast<const void*>(own.base + own.headers[i].p_vaddr), own.headers[i].p_memsz);
  }
}

} // namespace

void find_valgrind() {
  if (under_valgrind || ask_valgrind(kValgrindRuns) == 0) return;
  under_valgrind = judged = true;
  exempt_globals();
}

void tool_leaves_malloc() {
  judged = false;
}

void exempt_from_races(const void* start, std::size_t bytes) {
  if (!under_valgrind || start == nullptr) return;
  ask_valgrind(kHelgrindUntracked, reinterpret_cast<unsigned long>(start), bytes);
  ask_valgrind(kDrdSuppressed, reinterpret_cast<unsigned long>(start), bytes);
}

} // namespace memtrace::record
