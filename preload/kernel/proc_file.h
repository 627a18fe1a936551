// Purpose: figures in small text files: of /proc, of cgroups, of other processes of the job.
// Runs: on the background thread, and before there is one on the thread that begins to record.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// The whole file, NUL-terminated, until the next call; null when it cannot be read.
const char* read_kernel_file(const char* path);
// The same of a file that a process of this user wrote.
const char* read_own_file(const char* path);
// read_kernel_file of `directory/name`, of which directory has this many bytes.
const char* read_kernel_file(const char* directory, std::size_t bytes, const char* name);

// Blanks, then digits; format::kNotSaid where there are none ("max").
std::uint64_t number_at(const char* text);
// What digits 0-9 and a-f there are, 0 for none.
std::uint64_t hexadecimal_at(const char* text);
// Digits with at most two places behind the point, in hundredths.
std::uint32_t hundredths_at(const char* text);
// The text behind `key` at the start of a line, null if there is none.
const char* line_after(const char* text, const char* key);
// The number there; format::kNotSaid if there is none.
std::uint64_t number_after(const char* text, const char* key);
// The same of a line in KiB, in bytes.
std::uint64_t kib_after(const char* text, const char* key);

} // namespace memtrace::record
