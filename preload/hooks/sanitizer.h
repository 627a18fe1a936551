// Room: hooks. In the constructor.
// Job: the blocks of a sanitizer's allocator, which comes before our malloc.
#pragma once

namespace memtrace::hooks {

// Only where malloc is not ours. Asks the sanitizer's runtime to report its blocks to us. False: there is none,
// or it cannot be asked (gcc's static runtimes export no name for that).
bool blocks_come_from_sanitizer();

} // namespace memtrace::hooks
