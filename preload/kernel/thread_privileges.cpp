// Purpose: reads from /proc what a thread of this process may do, and how it ended.
// Runs: on the background thread, and in the constructor.
#include "preload/kernel/thread_privileges.h"

#include <cstring>
#include <initializer_list>

#include "preload/bounded/fixed_string.h"
#include "preload/format/records.h"
#include "preload/kernel/proc_file.h"

namespace memtrace::record {
namespace {

std::uint64_t hash_line(std::uint64_t hash, const char* at) { // FNV-1a
  for (; at != nullptr && *at != '\0' && *at != '\n'; ++at)
    hash = (hash ^ static_cast<unsigned char>(*at)) * 0x100000001B3;
  return hash;
}

Line<64> path_of(int thread, const char* file) {
  Line<64> out;
  out.add("/proc/self/task/").add(static_cast<std::uint64_t>(thread)).add(file);
  return out;
}

// Returns the number of filters. `mode`: the rest of the text from the value of the line Seccomp on; null if
// there is no such line.
std::uint64_t filters_in(const char* mode) {
  if (mode == nullptr) return 0;
  const std::uint64_t filters = number_after(mode, "Seccomp_filters:\t");
  return filters != format::kNotSaid ? filters : *mode != '0';
}

ThreadPrivileges read_privileges(const char* path) {
  ThreadPrivileges out;
  const char* const text = read_kernel_file(path);
  const char* const state = text != nullptr ? line_after(text, "State:\t") : nullptr;
  if (state == nullptr) return out;
  out.ended = *state == 'Z' || *state == 'X'; // the first thread may end before other threads
  out.threads = number_after(text, "Threads:\t");
  out.known = !out.ended;
  out.credentials = 0xCBF29CE484222325;
  for (const char* name :
       {"Uid:", "Gid:", "Groups:", "CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:", "NoNewPrivs:"})
    out.credentials = hash_line(out.credentials, line_after(text, name));
  const char* const mode = line_after(text, "Seccomp:\t");
  out.strict = mode != nullptr && *mode == '1';
  out.filters = filters_in(mode);
  return out;
}

} // namespace

ThreadPrivileges privileges_of(int thread) {
  return read_privileges(path_of(thread, "/status").text());
}

int exit_status_of(int thread) {
  constexpr int kExitCode = 52; // number of the field in proc(5)
  const char* at = read_kernel_file(path_of(thread, "/stat").text());
  const char* const name_end = at != nullptr ? std::strrchr(at, ')') : nullptr; // a name may have blanks
  if (name_end == nullptr) return 0;
  at = name_end + 1;
  for (int field = 3; field < kExitCode && at != nullptr; ++field) at = std::strchr(at + 1, ' ');
  const std::uint64_t code = at != nullptr ? number_at(at) : 0; // as waitpid() has it
  return code != format::kNotSaid ? static_cast<int>(code >> 8 & 255) : 0;
}

std::uint64_t filters_at_start() {
  const char* const text = read_kernel_file("/proc/self/status");
  return filters_in(text != nullptr ? line_after(text, "Seccomp:\t") : nullptr);
}

} // namespace memtrace::record
