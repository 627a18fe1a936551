// Purpose: the memory that replaces TLS on the background thread.
// Runs: on a thread of the program that starts the background thread.
#include "preload/drain/tls_stand_in.h"

#include <errno.h>

#include <algorithm>
#include <cstdint>

#include "preload/os/timestamp.h"
#include "preload/state/thread.h"

namespace memtrace::record {
namespace {

constexpr std::size_t kAbove = 32 * 1024; // glibc's description of the thread; 2.3 KiB in glibc 2.36
constexpr std::size_t kSlack = 32 * 1024; // the rest of the TLS of memtrace and of libc
constexpr std::size_t kPage = 4096;

// glibc encodes pointers to functions with a word at this place of each thread. Before 2.31, clock_gettime
// reads such a pointer: a thread without the word jumped to a random address.
constexpr std::size_t kPointerGuard = 0x30;

std::uint64_t pointer_guard() {
  std::uint64_t guard;
  asm("movq %%fs:%c1, %0" : "=r"(guard) : "i"(kPointerGuard));
  return guard;
}

char* thread_pointer() {
  char* pointer;
  asm("movq %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

// Returns how far a variable in static TLS lies below the thread pointer: as far in each thread.
std::size_t depth_of(const void* variable) {
  const char* const at = static_cast<const char*>(variable);
  return at < thread_pointer() ? static_cast<std::size_t>(thread_pointer() - at) : 0;
}

// The TLS of objects that the loader placed first lies above memtrace's. libtsan's has 780 KB. With a stand-in
// of a fixed 32 KiB, the thread wrote its stamps into other memory of the process.
std::size_t below() {
  const std::size_t deepest = std::max({depth_of(&local), depth_of(&own_stamp), depth_of(&errno)});
  return (deepest + kSlack + kPage - 1) / kPage * kPage;
}

} // namespace

std::size_t tls_stand_in_bytes() {
  return below() + kAbove;
}

void* make_tls_stand_in(char* memory) {
  char* const block = memory + below();
  *reinterpret_cast<void**>(block) = block;
  *reinterpret_cast<void**>(block + 16) = block;
  *reinterpret_cast<std::uint64_t*>(block + kPointerGuard) = pointer_guard();
  *reinterpret_cast<Local*>(block - depth_of(&local)) = Local{};
  return block;
}

} // namespace memtrace::record
