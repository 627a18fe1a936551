// Purpose: reads from /proc what a thread of this process may do.
// Runs: on the background thread, and in the constructor.
#include "preload/kernel/thread_privileges.h"

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

ThreadPrivileges read_privileges(const char* path) {
  ThreadPrivileges out;
  const char* const text = read_kernel_file(path);
  const char* const state = text != nullptr ? line_after(text, "State:\t") : nullptr;
  if (state == nullptr) return out;
  out.known = *state != 'Z' && *state != 'X'; // the first thread may end before other threads
  out.credentials = 0xCBF29CE484222325;
  for (const char* name :
       {"Uid:", "Gid:", "Groups:", "CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:", "NoNewPrivs:"})
    out.credentials = hash_line(out.credentials, line_after(text, name));
  const char* const mode = line_after(text, "Seccomp:\t");
  const std::uint64_t filters = number_after(text, "Seccomp_filters:\t");
  out.strict = mode != nullptr && *mode == '1';
  out.filters = filters != format::kNotSaid ? filters : mode != nullptr && *mode != '0';
  return out;
}

} // namespace

ThreadPrivileges privileges_of(int thread) {
  Line<64> path;
  path.add("/proc/self/task/").add(static_cast<std::uint64_t>(thread)).add("/status");
  return read_privileges(path.text());
}

std::uint64_t filters_at_start() {
  return read_privileges("/proc/self/status").filters;
}

} // namespace memtrace::record
