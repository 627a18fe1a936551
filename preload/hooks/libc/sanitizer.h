// Purpose: records the blocks of a sanitizer's allocator, which replaces malloc before memtrace; and hides
// memtrace's globals from its leak checker.
// Runs: in the constructor.
#pragma once

namespace memtrace::hooks {

// Asks the sanitizer's runtime to report its blocks. Call it only if malloc is not memtrace's. False: there is
// no runtime, or it exports no function for that (gcc's static runtimes).
bool blocks_come_from_sanitizer();

// For processes that may have a leak checker. A leak checker takes an address in a writable segment for a block
// that the program still reaches. memtrace's globals hold addresses of blocks, so a leak was not reported.
void hide_globals_from_leak_checkers();

} // namespace memtrace::hooks
