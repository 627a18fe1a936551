// Purpose: the recorder's data of one thread, and the few words that it keeps in TLS.
// Runs: inside the program's malloc.
#include "preload/state/thread.h"

namespace memtrace::record {

alignas(64) constinit format::SmallTotals uncounted{};
thread_local constinit Local local{};

namespace {

// For a forked child that is only too young. Checks at each 2 KiB cost 5 % of the instructions of a malloc and
// free of 64 bytes, and 40 % of those of 512 bytes. Checks at each 16 KiB cost 1 % and 5 %.
constexpr std::int64_t kOftenBytes = 16 * 1024;

constinit bool looks_are_often = false;

} // namespace

std::int64_t tick_bytes(const Thread& thread) {
  return looks_are_often && thread.slot == nullptr ? kOftenBytes : kTickBytes;
}

void look_often_without_slot(bool often) {
  looks_are_often = often;
}

} // namespace memtrace::record
