// Purpose: finds the folders of the memory cgroup of a process and of its ancestors, v1 or v2.
#pragma once

#include <string>
#include <vector>

namespace memtrace::watch {

struct CgroupFolder {
  std::string path;   // in its hierarchy, as the kernel's log names it
  std::string folder; // where its files are
  bool version_two = false;
};

// Returns the text of /proc/PID/cgroup. Returns "" if the process is gone.
std::string cgroup_text(int pid);

// Takes such a text. Returns the cgroup first, then its ancestors as far as they can be seen here and have a
// limit file. Empty if there is no memory controller.
std::vector<CgroupFolder> memory_cgroups(const std::string& text);

} // namespace memtrace::watch
