// Purpose: the marks of phases and steps that the hooks make (Python, C, NVTX).
// Runs: on the program's thread, outside malloc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// Marks on the calling thread. Names are copied (at most 200 bytes). Not for signal handlers. Errors are not
// returned. Flags: format::kAuto for marks that memtrace found, kGradOff, kSkipped.
void phase_begin(const char* name, std::size_t bytes, std::uint16_t flags);
// Ends the innermost phase of that name on this thread; does nothing if there is none.
void phase_end(const char* name, std::size_t bytes, std::uint16_t flags);
// Copies the name of the innermost phase of this thread, and returns its bytes; 0 if there is none.
std::size_t phase_current(char* out, std::size_t capacity);
// True if a phase of that name is open on this thread.
bool phase_inside(const char* name, std::size_t bytes);

void step_begin(std::uint64_t number);
// The sizes of a model. The last call counts; its dtypes follow it.
void parameters(std::uint64_t count, std::uint64_t trainable, std::uint64_t bytes, std::uint64_t tensors);
void parameter_dtype(const char* dtype, std::size_t bytes, std::uint64_t count);
// The framework's allocator of pinned memory reuses blocks without a call to CUDA: bytes in use, and bytes
// held.
void pinned_use(std::uint64_t in_use, std::uint64_t held);
// Sets the role and the name of the bytes at `address` of a memory (0 host, n device n-1). Both texts are
// copied.
void label(const void* address, std::uint64_t bytes, const char* role, const char* name, unsigned memory = 0);
// Writes `key=value` for the reader of the trace.
void note(const char* text, std::size_t bytes);

// Called outside any hook. Cheap: restarts the background thread if a fork or unshare ended it.
void outside_hook();

} // namespace memtrace::record
