// Purpose: tells a hook that it runs in a forked child that memtrace has not initialised yet.
// Runs: in the constructor, and in a forked child.
#include "preload/state/fork_mark.h"

#include <sys/mman.h>

#include "preload/format/file_headers.h"
#include "preload/os/mappings.h"

namespace memtrace::record {

namespace {

constinit ForkMark unwatched{1, 0, 0};

} // namespace

constinit ForkMark* fork_mark = &unwatched;

void set_fork_mark() {
  fork_mark = &unwatched; // not the parent's page, which fork wiped
  auto* const page = static_cast<ForkMark*>(os::map_private(format::kPage));
  if (page == nullptr) return;
  page->here = 1;
  if (os::advise(page, format::kPage, MADV_WIPEONFORK) < 0) return;
  fork_mark = page;
}

} // namespace memtrace::record
