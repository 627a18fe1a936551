// Purpose: files, by system calls alone: no errno, no hook of ours or of others in between.
// Runs: on any thread, also on one that glibc does not know.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record::os {

// Writing past the program's RLIMIT_FSIZE fails here as it should; the SIGXFSZ that comes with it does not
// reach the program. Every call returns what the kernel returned: a negative errno on failure. Interrupted
// reads and writes go on. All are safe in signal handlers and after fork. In a program that has put itself in a
// sandbox no call is made, and all of them fail (gate/syscall_gate.h).
//
// Files are opened here alone. No open follows a link in the last part of a path, waits for the other end of a
// FIFO, or gives a file that is not regular.
long open_kernel(const char* path); // of /proc, /sys or a cgroup, for reading
// An existing file at a name that other users know as well. It must be a file of this user, with no second
// name: in a directory that all may write, another user can put a link to a file of ours there.
enum class For : std::uint8_t { reading, appending, changing };
long open_own(const char* path, For use);
// Not errnos: of open_own and make_directories, and of make_own_directory.
inline constexpr long kNotOurs = -10'000, kWritableByOthers = -10'001;
long create(const char* path); // new file only, for reading and writing
long open_directory(const char* path);
long close(long fd);
long read_all(long fd, void* data, std::size_t bytes);        // up to `bytes`, fewer at the end of the file
long write_all(long fd, const void* data, std::size_t bytes); // all of them, or a negative errno
long read_once(long fd, void* data, std::size_t bytes);       // what there is at once, again if interrupted
long read_at(long fd, std::uint64_t offset, void* data, std::size_t bytes);
long write_once(long fd, const void* data, std::size_t bytes);
// One writev, and what it returned: fewer bytes than asked when the disk became full in the middle.
long write_pair(long fd, const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes);
long write_at(long fd, std::uint64_t offset, const void* data, std::size_t bytes); // one pwrite
// Real blocks, so that a mapping cannot SIGBUS: by fallocate, and where there is none by writing zeros.
long reserve(long fd, std::uint64_t offset, std::uint64_t bytes);
long allocate(long fd, std::uint64_t offset, std::uint64_t bytes);
// fdatasync by a thread of the kernel's, which is not waited for: 0 when asked. `*context` is 0 at first. The
// process's end waits for one that is under way.
long sync_later(std::uint64_t* context, long fd);
long syncs_done(std::uint64_t context);                       // since the last call
void begin_writing_out(long fd);                              // sync_file_range
long cut(long fd, std::uint64_t bytes);                       // ftruncate
long control(long fd, unsigned long request, void* argument); // ioctl

} // namespace memtrace::record::os
