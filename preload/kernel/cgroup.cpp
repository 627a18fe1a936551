// Purpose: reads the kernel's figures of the memory cgroup of this process and of its ancestors, v1 or v2.
// Runs: on the background thread; before that thread starts, on the thread that begins to record.
#include "preload/kernel/cgroup.h"

#include <cstring>
#include <initializer_list>

#include "preload/bounded/fixed_string.h"
#include "preload/format/file_headers.h"
#include "preload/kernel/proc_file.h"
#include "preload/os/paths.h"

namespace memtrace::record {

using format::kNotSaid;

namespace {

constexpr std::uint64_t kNoLimit = 0x7FFFFFFFFFFFF000; // the value of version 1 if there is no limit

// Static, because the stack may be small.
constinit Path directory{}; // of the cgroup; empty: not found
constinit Path looked_at{};
constinit bool version_two = false;
constinit unsigned levels = 0;
constinit std::size_t level_bytes[kMaxLevels] = {}; // lengths of paths in `directory`, own cgroup first

// Returns the path in a line `ID:CONTROLLERS:PATH` of version 1 if its controllers include memory, else null.
const char* memory_path_of(const char* line) {
  const char* at = std::strchr(line, ':');
  while (at != nullptr && *at != '\n' && *at != '\0') {
    ++at;
    const std::size_t bytes = std::strcspn(at, ",:\n");
    if (bytes == 6 && std::strncmp(at, "memory", 6) == 0) return std::strchr(at, ':') + 1;
    if (at[bytes] != ',') return nullptr;
    at += bytes;
  }
  return nullptr;
}

// Writes the cgroup's directory to `looked_at`, empty if there is none. Returns how many bytes of it are the
// root's.
std::size_t look(bool* two) {
  looked_at.clear();
  const char* const text = read_kernel_file("/proc/self/cgroup");
  if (text == nullptr) return 0;
  const char* path = nullptr;
  const char* root = "/sys/fs/cgroup";
  for (const char* line = text; line != nullptr && *line != '\0';) {
    const char* const end = std::strchr(line, '\n');
    if (const char* const after = memory_path_of(line); after != nullptr) {
      path = after;
      root = "/sys/fs/cgroup/memory";
      *two = false;
      break;
    }
    if (std::strncmp(line, "0::", 3) == 0) {
      path = line + 3;
      *two = true;
    }
    line = end == nullptr ? nullptr : end + 1;
  }
  if (path == nullptr) return 0;
  looked_at.add(root);
  const std::size_t root_bytes = looked_at.size();
  if (const std::size_t bytes = std::strcspn(path, "\n"); bytes > 1)
    looked_at.add(path, bytes); // "/" is the root itself
  return root_bytes;
}

std::uint64_t number_in(unsigned level, const char* name) {
  const char* const text = read_kernel_file(directory.text(), level_bytes[level], name);
  return text == nullptr ? kNotSaid : number_at(text);
}

std::uint64_t limit_in(unsigned level, const char* name) {
  const std::uint64_t limit = number_in(level, name);
  return limit >= kNoLimit ? kNotSaid : limit;
}

std::uint64_t or_none(std::uint64_t value) {
  return value == kNotSaid ? 0 : value;
}

// Before Linux 5.9, one number stands for files and anonymous memory.
std::uint64_t first_number_after(const char* text, const char* key, const char* older) {
  const std::uint64_t number = number_after(text, key);
  return number != kNotSaid ? number : number_after(text, older);
}

void read_stat_two(const char* text, Charge* out) {
  out->refaulted_pages = first_number_after(text, "workingset_refault_file ", "workingset_refault ");
  out->swapped_in_pages = or_none(number_after(text, "workingset_refault_anon "));
  out->major_faults = number_after(text, "pgmajfault ");
  out->anon = or_none(number_after(text, "anon "));
  out->file = or_none(number_after(text, "file "));
  out->shmem = number_after(text, "shmem ");
  out->page_tables = number_after(text, "pagetables ");
  out->hugetlb = number_after(text, "hugetlb "); // only if the mount accounts hugetlb memory
  out->dirty = or_none(number_after(text, "file_dirty ")) + or_none(number_after(text, "file_writeback "));
  out->kernel = number_after(text, "kernel ");
  if (out->kernel != kNotSaid) return;
  out->kernel = 0; // before Linux 5.18, the file has only the parts
  for (const char* part : {"kernel_stack ", "pagetables ", "percpu ", "vmalloc ", "slab "})
    out->kernel += or_none(number_after(text, part));
}

void read_stat_one(const char* text, Charge* out) {
  out->refaulted_pages =
      first_number_after(text, "total_workingset_refault_file ", "total_workingset_refault ");
  out->swapped_in_pages = or_none(number_after(text, "total_workingset_refault_anon "));
  out->major_faults = number_after(text, "total_pgmajfault ");
  out->anon = or_none(number_after(text, "total_rss "));
  out->file = or_none(number_after(text, "total_cache "));
  out->shmem = number_after(text, "total_shmem ");
  out->swap = number_after(text, "total_swap ");
  out->dirty = or_none(number_after(text, "total_dirty ")) + or_none(number_after(text, "total_writeback "));
}

// Reads a line of memory.numa_stat: " N0=123 N1=456". Returns the number of nodes.
unsigned read_node_line(const char* line, std::uint64_t unit, std::uint64_t NodeShare::*part, NodeShare* out,
                        unsigned most) {
  unsigned count = 0;
  for (const char* at = line; at != nullptr && *at != '\n' && *at != '\0'; ++at) {
    if (*at != 'N' || at[1] < '0' || at[1] > '9') continue;
    const std::uint64_t node = number_at(at + 1);
    const char* value = at + 1;
    while (*value >= '0' && *value <= '9') ++value;
    if (*value != '=' || node >= most) continue;
    out[node].*part = or_none(number_at(value + 1)) * unit;
    if (node >= count) count = static_cast<unsigned>(node) + 1;
  }
  return count;
}

} // namespace

std::uint64_t Charge::held() const {
  const std::uint64_t kept = or_none(shmem) + or_none(dirty);
  const std::uint64_t clean = file > kept ? file - kept : 0;
  return charge > clean ? charge - clean : 0;
}

bool find_group() {
  bool two = false;
  const std::size_t root_bytes = look(&two);
  if (levels != 0 && two == version_two && std::strcmp(looked_at.text(), directory.text()) == 0) return false;
  // In a container the path may be the host's. Then the mounted root is this process's own cgroup.
  const bool there = os::exists(looked_at.text());
  const std::size_t bytes = there ? looked_at.size() : root_bytes;
  if (levels != 0 && bytes == directory.size() && std::strncmp(looked_at.text(), directory.text(), bytes) == 0)
    return false;
  directory.clear();
  directory.add(looked_at.text(), bytes);
  version_two = two;
  levels = 0;
  for (std::size_t end = bytes; end != 0 && levels < kMaxLevels;) {
    level_bytes[levels++] = end;
    if (end <= root_bytes) break;
    while (end > root_bytes && directory.text()[end - 1] != '/') --end;
    if (end > root_bytes) --end;
  }
  return levels != 0;
}

unsigned group_levels() {
  return levels;
}
GroupPath group_path(unsigned level) {
  return {directory.text(), level_bytes[level]};
}
bool group_is_version_two() {
  return version_two;
}
void forget_group() {
  levels = 0;
  directory.clear();
}

bool read_charge(unsigned level, Charge* out) {
  *out = {};
  out->shmem = out->kernel = out->swap = out->hugetlb = out->page_tables = kNotSaid;
  out->refaulted_pages = out->major_faults = kNotSaid;
  out->charge = number_in(level, version_two ? "memory.current" : "memory.usage_in_bytes");
  if (out->charge == kNotSaid) return false; // v2's root has no such file
  out->limit = limit_in(level, version_two ? "memory.max" : "memory.limit_in_bytes");
  if (const char* const text = read_kernel_file(directory.text(), level_bytes[level], "memory.stat");
      text != nullptr) {
    if (version_two) {
      read_stat_two(text, out);
    } else {
      read_stat_one(text, out);
    }
  }
  if (version_two) {
    out->swap = number_in(level, "memory.swap.current");
  } else {
    out->kernel = number_in(level, "memory.kmem.usage_in_bytes");
  }
  const char* const events = version_two ? "memory.events" : "memory.oom_control";
  if (const char* const text = read_kernel_file(directory.text(), level_bytes[level], events);
      text != nullptr) {
    out->oom_kills = or_none(number_after(text, "oom_kill "));
    out->throttled = version_two ? or_none(number_after(text, "high ")) : 0;
  }
  return true;
}

unsigned read_nodes(NodeShare* out, unsigned most) {
  for (unsigned node = 0; node < most; ++node) out[node] = {};
  if (levels == 0) return 0;
  const char* const text = read_kernel_file(directory.text(), level_bytes[0], "memory.numa_stat");
  if (text == nullptr) return 0;
  const std::uint64_t unit = version_two ? 1 : format::kPage;
  const char* const anon = version_two ? "anon " : "hierarchical_anon=";
  const char* const file = version_two ? "file " : "hierarchical_file=";
  read_node_line(line_after(text, file), unit, &NodeShare::file, out, most);
  return read_node_line(line_after(text, anon), unit, &NodeShare::anon, out, most);
}

GroupLimits read_limits(unsigned level) {
  GroupLimits out = {kNotSaid, kNotSaid, kNotSaid, kNotSaid, kNotSaid, 2};
  if (!version_two) {
    out.swap = limit_in(level, "memory.memsw.limit_in_bytes");
    out.highest = number_in(level, "memory.max_usage_in_bytes");
    out.met = number_in(level, "memory.failcnt");
    return out;
  }
  out.high = limit_in(level, "memory.high");
  out.swap = limit_in(level, "memory.swap.max");
  out.highest = number_in(level, "memory.peak");
  if (const char* const text = read_kernel_file(directory.text(), level_bytes[level], "memory.events");
      text != nullptr) {
    out.met = number_after(text, "max ");
    out.ooms = number_after(text, "oom ");
  }
  if (const std::uint64_t all = number_in(level, "memory.oom.group"); all < 2)
    out.kills_all = static_cast<std::uint32_t>(all);
  return out;
}

} // namespace memtrace::record
