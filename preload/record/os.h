// Room: record. Runs on any thread, also on one that glibc does not know.
// Job: the system calls of the recorder, raw: no errno, no hook of ours or of others in between.
#pragma once

#include <time.h>

#include <cstddef>
#include <cstdint>

namespace memtrace::record::os {

// Writing past the program's RLIMIT_FSIZE fails here as it should; the SIGXFSZ that comes with it does not
// reach the program. Every call returns what the kernel returned: a negative errno on failure. Interrupted
// reads and writes go on. All are safe in signal handlers and after fork. In a program that has put itself in a
// sandbox no call is made, and all of them fail (os_gate.h).
//
// Files are opened here alone. No open follows a link in the last part of a path, waits for the other end of a
// FIFO, or gives a file that is not regular.
long open_kernel(const char* path); // of /proc, /sys or a cgroup, for reading
// An existing file at a name that other users know as well. It must be a file of this user, with no second
// name: in a directory that all may write, another user can put a link to a file of ours there.
enum class For : std::uint8_t { reading, appending, changing };
long open_own(const char* path, For use);
inline constexpr long kNotOurs = -10'000; // of open_own and make_directories; no errno
long create(const char* path);            // new file only, for reading and writing
long open_directory(const char* path);
long close(long fd);
long read_all(long fd, void* data, std::size_t bytes);        // up to `bytes`, fewer at the end of the file
long write_all(long fd, const void* data, std::size_t bytes); // all of them, or a negative errno
long read_once(long fd, void* data, std::size_t bytes);       // what there is at once, again if interrupted
long read_at(long fd, std::uint64_t offset, void* data, std::size_t bytes);
long pages_in_memory(std::uint64_t start, std::size_t bytes, std::uint8_t* out); // mincore
long control(long fd, unsigned long request, void* argument);                    // ioctl
long write_once(long fd, const void* data, std::size_t bytes);
// The descriptor 2 that the process started with; a program may close it and give its number to a data file.
void remember_stderr();
// A line on it, if it is still that one and takes the line at once. Nothing the program would notice: no
// SIGPIPE, no SIGTTOU, no waiting.
void say(const char* text, std::size_t bytes);
// One writev, and what it returned: fewer bytes than asked when the disk became full in the middle.
long write_pair(long fd, const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes);
long write_at(long fd, std::uint64_t offset, const void* data, std::size_t bytes); // one pwrite
// Real blocks, so that a mapping cannot SIGBUS: by fallocate, and where there is none by writing zeros.
long reserve(long fd, std::uint64_t offset, std::uint64_t bytes);
long allocate(long fd, std::uint64_t offset, std::uint64_t bytes);
// fdatasync by a thread of the kernel's, which is not waited for: 0 when asked. `*context` is 0 at first. The
// process's end waits for one that is under way.
long sync_later(std::uint64_t* context, long fd);
long syncs_done(std::uint64_t context); // since the last call
void begin_writing_out(long fd);        // sync_file_range
long cut(long fd, std::uint64_t bytes); // ftruncate
long unlink(const char* path);
long make_directory(const char* path, unsigned mode); // less the umask
long remove_directory(const char* path);
long read_directory(long fd, void* entries, std::size_t bytes); // getdents64
long size_of(const char* path);                                 // of a file
std::uint64_t modified_ns(const char* path);                    // Unix time; 0: it cannot be told
long read_link(const char* path, char* out, std::size_t capacity);
long file_system_of(int fd);                // statfs magic
long file_system_at(const char* path);      // the same of a path
std::uint64_t free_bytes(long fd);          // for this user; all ones where the file system does not say
std::uint64_t resource_limit(int resource); // RLIMIT_*; all ones: there is none
// What is used of the tmpfs at `path`, and its size; false, with nothing written, where there is no tmpfs.
bool tmpfs_use(const char* path, std::uint64_t* used, std::uint64_t* size);
bool exists(const char* path);
struct Look {
  std::uint32_t mode = 0; // type and permissions
  std::uint32_t user = 0;
};
long look_at(const char* path, Look* out); // follows links
long look_at_link(const char* path, Look* out);
std::uint32_t user(); // the effective one

void* map_private(std::size_t bytes);                               // null on failure
void* map_shared(long fd, std::uint64_t offset, std::size_t bytes); // null on failure
void unmap(void* address, std::size_t bytes);
void* extend(void* address, std::size_t bytes, std::size_t wanted); // a private mapping; null on failure
long advise(void* address, std::size_t bytes, int advice);
long lock(std::uint64_t start, std::uint64_t bytes, bool on_fault); // mlock2
long unlock(std::uint64_t start, std::uint64_t bytes);
// Whether the kernel locks each new mapping, by the program's mlockall(MCL_FUTURE): then ours are made without
// access first, so that they are unlocked before they have a page.
void set_new_are_locked(bool are);
bool new_are_locked();

bool is_readable(const void* address);
// Pieces of this process's memory, any of which may be gone: how many bytes could be copied, in order.
struct Piece {
  const void* at;
  std::size_t bytes;
};
long copy_memory(void* out, const Piece* pieces, std::size_t count);
bool make_writable(void* address, std::size_t bytes); // the pages around it, for good

// False: none, or outside the root directory.
bool working_directory(char* out, std::size_t capacity);
bool host_name(char* out, std::size_t capacity); // cut where it is longer
int process_id();
int parent_id();
int thread_id();
// How often the calling thread gave up the processor by itself, to wait for something.
std::uint64_t voluntary_switches();
bool thread_exists(int tid); // of this process
void yield();
void sleep_ns(std::uint64_t ns);
int clock_call(clockid_t clock, timespec* out); // without the vDSO
std::uint64_t monotonic_ns();
std::uint64_t thread_cpu_ns(); // of the calling thread
std::uint64_t unix_ns();
std::uint64_t boot_ns();  // since the machine began
bool in_signal_handler(); // as a rule: a signal other than SIGPIPE is blocked
void futex_wait(const std::uint32_t* word, std::uint32_t expected, std::uint64_t timeout_ns);
void futex_wake(const std::uint32_t* word);

// For a thread with a descriptor table of its own (below): it begins as a copy of the program's, and a pipe of
// the program's must not stay open by it.
void close_all_of_this_thread();

// A thread that glibc does not know: no TLS of libc's, all signals blocked, `run(argument)` must use nothing
// but this file and plain memory. `*tid` is cleared by the kernel when it is gone. Returns its id or a negative
// errno.
long start_thread(void (*run)(void*), void* argument, void* stack, std::size_t stack_bytes, void* tls,
                  std::uint32_t* tid);

} // namespace memtrace::record::os
