// Purpose: facts that the hooks in the framework report: the size of the model, its pinned memory, roles of
// tensors, notes.
// Runs: on the program's thread, outside malloc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// Texts are copied (at most 200 bytes). Not for signal handlers. Errors are not returned.

// The sizes of a model. The last call counts; its dtypes follow it.
void parameters(std::uint64_t count, std::uint64_t trainable, std::uint64_t bytes, std::uint64_t tensors);
void parameter_dtype(const char* dtype, std::size_t bytes, std::uint64_t count);
// The framework's allocator of pinned memory reuses blocks without a call to CUDA: bytes in use, and bytes
// held.
void pinned_use(std::uint64_t in_use, std::uint64_t held);
// Sets the role and the name of the bytes at `address` of a memory (0 host, n device n-1). `module`: the path
// of the module that they belong to; "": it is not known. The texts are copied.
void label(const void* address, std::uint64_t bytes, const char* role, const char* name, unsigned memory = 0,
           const char* module = "");
// Sets the path of the module at `self`.
void note_module_path(const void* self, const char* path, std::size_t bytes);
// Sets the name of the process group with this key.
void note_group_name(std::uint64_t key, const char* name, std::size_t bytes);
// A worker of a loader begins to read its data. Notes the pages of its parent that it had copied by then, in a
// forked worker.
void note_copied_at_first_item();
// Writes `key=value` for the reader of the trace.
void note(const char* text, std::size_t bytes);

} // namespace memtrace::record
