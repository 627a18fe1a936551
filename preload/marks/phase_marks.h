// Purpose: the marks of phases and steps, as the hooks (Python, C, NVTX) make them.
// Runs: on the program's thread, outside malloc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// Marks on the calling thread. Names are copied (at most 200 bytes). Not for signal handlers. Never fails
// visibly. Flags: format::kAuto for marks that memtrace found, kGradOff, kSkipped.
void phase_begin(const char* name, std::size_t bytes, std::uint16_t flags);
// Ends the innermost phase of that name on this thread; nothing if there is none.
void phase_end(const char* name, std::size_t bytes, std::uint16_t flags);
// The innermost phase of this thread: bytes copied, 0 if none.
std::size_t phase_current(char* out, std::size_t capacity);
// Is one of that name open on this thread?
bool phase_inside(const char* name, std::size_t bytes);

void step_begin(std::uint64_t number);
// What a model has. The last one counts; the dtypes follow it.
void parameters(std::uint64_t count, std::uint64_t trainable, std::uint64_t bytes, std::uint64_t tensors);
void parameter_dtype(const char* dtype, std::size_t bytes, std::uint64_t count);
// Of the framework's allocator of pinned memory, which gives out again what it keeps: bytes in use, and held.
void pinned_use(std::uint64_t in_use, std::uint64_t held);
// What the bytes at `address` of a memory (0 host, n device n-1) are for. Role and name are copied.
void label(const void* address, std::uint64_t bytes, const char* role, const char* name, unsigned memory = 0);
// `key=value` for the reader of the trace.
void note(const char* text, std::size_t bytes);

// A moment outside any hook. Cheap: restarts the background thread where fork or unshare had retired it.
void outside_hook();

} // namespace memtrace::record
