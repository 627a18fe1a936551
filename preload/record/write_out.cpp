// Room: record. Runs inside the victim's malloc.
// Job: a thread whose ring is full empties it, or loses an event by a reason.
#include "preload/record/write_out.h"

#include <cerrno>

#include "preload/record/loss.h"
#include "preload/record/ring_file.h"
#include "preload/record/shut_files.h"
#include "preload/record/slot.h"
#include "preload/record/talk.h"
#include "preload/record/trace_file.h"

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
