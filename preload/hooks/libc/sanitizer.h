// Purpose: the blocks of a sanitizer's allocator, which comes before our malloc; and what its leak checker sees
// of us.
// Runs: in the constructor.
#pragma once

namespace memtrace::hooks {

// Only where malloc is not ours. Asks the sanitizer's runtime to report its blocks to us. False: there is none,
// or it cannot be asked (gcc's static runtimes export no name for that).
bool blocks_come_from_sanitizer();

// Where a leak checker may be in the process. It takes an address that lies in an object's writable segment for
// one that the program still has, and ours hold addresses of blocks: a leak was not reported.
void hide_globals_from_leak_checkers();

} // namespace memtrace::hooks
