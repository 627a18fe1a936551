// Purpose: a memory cgroup of version 2 where the machine has none: its files, mounted for one process alone.
#pragma once

#include <cstdint>
#include <string>

#include "child.h"

namespace memtrace::tests {

// Root, and allowed to mount: most containers are not.
bool can_enter_pod();
// In a child of in_child(): from now on /sys/fs/cgroup and /proc/self/cgroup are those of a pod, two levels
// below the root.
bool enter_pod(const Scratch& scratch);
inline constexpr const char* kPod = "/sys/fs/cgroup/kubepods.slice/pod1";

// A file of the pod, or of another directory.
void put_group_file(const std::string& name, const std::string& text, const std::string& directory = kPod);
void put_charge(std::uint64_t charge, const std::string& limit);

} // namespace memtrace::tests
