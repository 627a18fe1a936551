// Purpose: names of files and directories, and the file systems that they are on.
// Runs: on any thread, also on one that glibc does not know.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record::os {

long unlink(const char* path);
long make_directory(const char* path, unsigned mode); // less the umask
long remove_directory(const char* path);
long read_directory(long fd, void* entries, std::size_t bytes); // getdents64
long size_of(const char* path);                                 // of a file
std::uint64_t modified_ns(const char* path);                    // Unix time; 0: it cannot be told
long read_link(const char* path, char* out, std::size_t capacity);
long file_system_of(int fd);           // statfs magic
long file_system_at(const char* path); // the same of a path
std::uint64_t free_bytes(long fd);     // for this user; all ones where the file system does not say
// What is used of the tmpfs at `path`, and its size; false, with nothing written, where there is no tmpfs.
bool tmpfs_use(const char* path, std::uint64_t* used, std::uint64_t* size);
bool exists(const char* path);
struct FileStatus {
  std::uint32_t mode = 0; // type and permissions
  std::uint32_t user = 0;
};
long look_at(const char* path, FileStatus* out); // follows links
long look_at_link(const char* path, FileStatus* out);
// False: none, or outside the root directory.
bool working_directory(char* out, std::size_t capacity);

} // namespace memtrace::record::os
