// Purpose: file access by raw system calls. They do not change errno, and no hook of memtrace or of another
// library runs in between.
// Runs: on any thread, also on threads that glibc does not know.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record::os {

// If a write exceeds the program's RLIMIT_FSIZE, it fails; the kernel's SIGXFSZ does not reach the program.
// Every call returns the kernel's result: a negative errno on failure. Interrupted reads and writes are
// repeated, except write_once(). All calls are safe in signal handlers and after fork. If the program has
// entered a sandbox, no call is made and all of them fail (gate/syscall_gate.h).
//
// Only these functions open files. Except open_directory(), no open follows a link in the last component of a
// path, waits for the other end of a FIFO, or returns a file that is not regular.
long open_kernel(const char* path); // a file of /proc, /sys or a cgroup, for reading
// Opens an existing file whose name other users know. The file must belong to this user and have no second
// name, because in a directory that all users may write, another user can put a link to one of this user's
// files.
enum class For : std::uint8_t { reading, appending, changing };
long open_own(const char* path, For use);
bool is_own(long fd); // true if the open file has exactly one name and belongs to this user
// Results that are not errnos. open_own, make_directories and make_own_directory return kNotOurs; only
// make_own_directory returns kWritableByOthers.
inline constexpr long kNotOurs = -10'000, kWritableByOthers = -10'001;
long create(const char* path); // fails if the file exists; for reading and writing
long open_directory(const char* path);
long close(long fd);
long read_all(long fd, void* data, std::size_t bytes);        // up to `bytes`, fewer at the end of the file
long write_all(long fd, const void* data, std::size_t bytes); // all bytes, or a negative errno
long read_once(long fd, void* data, std::size_t bytes);       // one read, repeated if interrupted
long read_at(long fd, std::uint64_t offset, void* data, std::size_t bytes);
long write_once(long fd, const void* data, std::size_t bytes);
// Makes one writev and returns its result: fewer bytes than asked if the disk becomes full during the write.
long write_pair(long fd, const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes);
long write_at(long fd, std::uint64_t offset, const void* data, std::size_t bytes); // one pwrite
// Allocate real blocks, so that an access to a mapping cannot raise SIGBUS. reserve() uses fallocate; if
// fallocate is not available, allocate() writes zeros.
long reserve(long fd, std::uint64_t offset, std::uint64_t bytes);
long allocate(long fd, std::uint64_t offset, std::uint64_t bytes);
// Requests an fdatasync by a kernel thread, and does not wait for it. Returns 0 if the kernel accepted the
// request, else a negative errno. `*context` is 0 before the first call. The exit of the process waits for a
// request in progress.
long sync_later(std::uint64_t* context, long fd);
long syncs_done(std::uint64_t context);                       // number of syncs that ended since the last call
long sync(long fd);                                           // fdatasync; waits for the disk or the server
void begin_writing_out(long fd);                              // sync_file_range
long cut(long fd, std::uint64_t bytes);                       // ftruncate
long control(long fd, unsigned long request, void* argument); // ioctl

} // namespace memtrace::record::os
