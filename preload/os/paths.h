// Purpose: operations on the paths of files and directories, and on the file systems that contain them.
// Runs: on any thread, also on threads that glibc does not know.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record::os {

long unlink(const char* path);
long rename(const char* from, const char* to);
long make_directory(const char* path, unsigned mode); // the umask applies
long remove_directory(const char* path);
long read_directory(long fd, void* entries, std::size_t bytes); // getdents64
long size_of(const char* path);                                 // of a file
std::uint64_t modified_ns(const char* path);                    // Unix time; 0: not known
long read_link(const char* path, char* out, std::size_t capacity);
long file_system_of(int fd);           // statfs magic
long file_system_at(const char* path); // statfs magic
std::uint64_t free_bytes(long fd);     // for this user; all ones: not known
// Writes the used bytes and the size of the tmpfs at `path`. If there is no tmpfs, returns false and writes
// nothing.
bool tmpfs_use(const char* path, std::uint64_t* used, std::uint64_t* size);
bool exists(const char* path);
struct FileStatus {
  std::uint32_t mode = 0; // type and permissions
  std::uint32_t user = 0;
};
long look_at(const char* path, FileStatus* out); // follows links
long look_at_link(const char* path, FileStatus* out);
// Returns false if there is no working directory, or if it is outside the root directory.
bool working_directory(char* out, std::size_t capacity);

} // namespace memtrace::record::os
