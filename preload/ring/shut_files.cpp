// Purpose: whether this process can write its files: a sandbox or changed credentials may prevent it.
// Runs: on any thread, after the rings exist.
#include "preload/ring/shut_files.h"

#include "preload/os/timestamp.h"
#include "preload/ring/drain_pass.h"
#include "preload/ring/ring_file.h"
#include "preload/state/loss_counters.h"

namespace memtrace::record {

namespace {

constinit std::uint64_t lost_before = 0; // events lost for this reason before the files were shut

} // namespace

bool files_are_shut() {
  return ring_header()->shut_since != 0;
}

void shut_files(format::Loss why) {
  format::RingFileHeader* const header = ring_header();
  if (header == nullptr) return;
  header->shut_why = static_cast<std::uint64_t>(why);
  __atomic_store_n(&header->shut_since, draw_stamp(), __ATOMIC_RELEASE);
}

void files_are_refused() {
  if (files_are_shut()) return;
  lost_before = lost_so_far(format::Loss::credentials);
  blame_files_on(format::Loss::credentials);
  shut_files(format::Loss::credentials);
}

format::Stamp open_files_again() {
  const format::Stamp since = ring_header()->shut_since;
  __atomic_store_n(&ring_header()->shut_since, 0u, __ATOMIC_RELEASE);
  blame_files_on(format::Loss::disk);
  // Lets the next call try the disk again, without the wait after an error.
  forget_chunk_errors();
  forget_pass_errors();
  return lost_so_far(format::Loss::credentials) == lost_before ? 0 : since;
}

void forget_shut_files() {
  blame_files_on(format::Loss::disk);
}

} // namespace memtrace::record
