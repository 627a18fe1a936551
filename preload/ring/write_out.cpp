// Purpose: empties the full ring of a thread, or counts the lost event by its reason.
// Runs: inside the program's malloc.
#include "preload/ring/write_out.h"

#include <cerrno>

#include "preload/ring/ring_file.h"
#include "preload/ring/shut_files.h"
#include "preload/ring/slot.h"
#include "preload/state/loss_counters.h"
#include "preload/state/messages.h"
#include "preload/trace/trace_file.h"

namespace memtrace::record {

Passed make_pass(format::RingSlot* slot) {
  if (disk_is_slow()) return Passed::failed;
  const std::uint64_t tail = tail_now(slot);
  Passed result = Passed::some;
  for (int tries = 0; tries < 3 && result == Passed::some && tail_now(slot) == tail; ++tries)
    result = pass(false);
  return tail_now(slot) != tail ? Passed::all : result;
}

bool made_room(Passed result) {
  switch (result) {
    case Passed::all:
    case Passed::some:
      return true;
    case Passed::no_room:
      lost(format::Loss::bound);
      break;
    case Passed::failed:
      if (disk_error() == -EACCES) files_are_refused();
      lost(format::Loss::disk);
      if (ring_header()->shut_since == 0) say_of_losses(trace_file.path.text(), disk_error());
      break;
    case Passed::busy:
      lost(format::Loss::busy);
      break;
  }
  return false;
}

} // namespace memtrace::record
