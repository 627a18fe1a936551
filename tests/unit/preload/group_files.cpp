// Purpose: a memory cgroup of version 2 where the machine has none: its files, mounted for one process alone.
#include "group_files.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace memtrace::tests {
namespace {

// The keys of Linux 6.6 in their order, figures of a process that has loaded a model.
constexpr const char* kStat =
    "anon 402653184\n"
    "file 134217728\n"
    "kernel 12582912\n"
    "kernel_stack 262144\n"
    "pagetables 3145728\n"
    "sec_pagetables 0\n"
    "percpu 4096\n"
    "sock 0\n"
    "vmalloc 8192\n"
    "shmem 33554432\n"
    "zswap 0\n"
    "zswapped 0\n"
    "file_mapped 20971520\n"
    "file_dirty 1048576\n"
    "file_writeback 2097152\n"
    "swapcached 0\n"
    "anon_thp 0\n"
    "slab_reclaimable 6291456\n"
    "slab_unreclaimable 2097152\n"
    "slab 8388608\n"
    "hugetlb 4194304\n"
    "workingset_refault_anon 12\n"
    "workingset_refault_file 3456\n"
    "pgfault 98765\n"
    "pgmajfault 789\n";

} // namespace

bool can_enter_pod() {
  const Scratch scratch;
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(enter_pod(scratch) ? 0 : 1);
  int status = 1;
  return pid > 0 && ::waitpid(pid, &status, 0) == pid && status == 0;
}

bool enter_pod(const Scratch& scratch) {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return false;
  std::ofstream(scratch.file("cgroup")) << "0::/kubepods.slice/pod1\n";
  const std::string own = "/proc/" + std::to_string(::getpid()) + "/cgroup";
  if (::mount("none", "/sys/fs/cgroup", "tmpfs", 0, nullptr) != 0 ||
      ::mount(scratch.file("cgroup").c_str(), own.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return false;
  const std::string above = std::filesystem::path(kPod).parent_path();
  std::filesystem::create_directories(kPod);
  put_group_file("memory.current", "1073741824\n", above);
  put_group_file("memory.max", "max\n", above);
  put_group_file("memory.stat", "anon 805306368\nfile 134217728\nkernel_stack 65536\npagetables 131072\n",
                 above);
  put_group_file("memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 2\n", above);
  put_charge(554696704, "2147483648");
  put_group_file("memory.stat", kStat);
  put_group_file("memory.events", "low 0\nhigh 17\nmax 31\noom 3\noom_kill 1\noom_group_kill 1\n");
  put_group_file("memory.numa_stat", "anon N0=301989888 N1=100663296\nfile N0=34217728 N1=100000000\n");
  put_group_file("memory.swap.current", "16777216\n");
  put_group_file("memory.swap.max", "0\n");
  put_group_file("memory.high", "max\n");
  put_group_file("memory.peak", "601882624\n");
  put_group_file("memory.oom.group", "1\n");
  put_group_file("memory.pressure",
                 "some avg10=41.05 avg60=12.30 avg300=3.18 total=8123456\n"
                 "full avg10=9.70 avg60=2.00 avg300=0.40 total=1234567\n");
  return true;
}

void put_group_file(const std::string& name, const std::string& text, const std::string& directory) {
  std::ofstream(directory + "/" + name) << text;
}

void put_charge(std::uint64_t charge, const std::string& limit) {
  put_group_file("memory.current", std::to_string(charge) + "\n");
  put_group_file("memory.max", limit + "\n");
}

} // namespace memtrace::tests
