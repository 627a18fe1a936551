// Purpose: reads figures from small text files: of /proc, of cgroups, of other processes of the job.
// Runs: on the background thread; before that thread starts, on the thread that begins to record.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// Returns the whole file, NUL-terminated and valid until the next call, or null if the file cannot be read.
const char* read_kernel_file(const char* path);
// Like read_kernel_file(), for a file that a process of this user wrote. Also returns null if another user owns
// the file.
const char* read_own_file(const char* path);
// Returns the file `directory/name`; `directory` has `bytes` bytes.
const char* read_kernel_file(const char* directory, std::size_t bytes, const char* name);

// Returns the number after blanks; format::kNotSaid if there are no digits ("max").
std::uint64_t number_at(const char* text);
// Returns the number that the digits 0-9 and a-f form; 0 if there are no digits.
std::uint64_t hexadecimal_at(const char* text);
// Returns a number with at most two decimal places, in hundredths.
std::uint32_t hundredths_at(const char* text);
// Returns the text after `key` at the start of a line, or null if no line starts with `key`.
const char* line_after(const char* text, const char* key);
// Returns the number after `key`; format::kNotSaid if there is none.
std::uint64_t number_after(const char* text, const char* key);
// Returns the number after `key`, which is in KiB, as bytes; format::kNotSaid if there is none.
std::uint64_t kib_after(const char* text, const char* key);

} // namespace memtrace::record
