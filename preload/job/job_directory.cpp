// Purpose: finds the job of this process, and the directories of its files.
// Runs: once, in the constructor, because programs call chdir.
#include "preload/job/job_directory.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <initializer_list>

#include "preload/kernel/proc_file.h"
#include "preload/kernel/thread_privileges.h"
#include "preload/os/clocks.h"
#include "preload/os/environ.h"
#include "preload/os/files.h"
#include "preload/os/paths.h"
#include "preload/os/threads.h"

namespace memtrace::record {

constinit JobDirectory place{};

namespace {

const char* first_of(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* const value = environment(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return nullptr;
}

std::uint32_t number(const char* text, std::uint32_t otherwise) {
  if (text == nullptr || *text < '0' || *text > '9') return otherwise;
  std::uint32_t value = 0;
  for (; *text >= '0' && *text <= '9'; ++text) value = value * 10 + static_cast<std::uint32_t>(*text - '0');
  return value;
}

void find_ranks() {
  place.rank = number(first_of({"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}), ~0u);
  place.local_rank = number(first_of({"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"}), ~0u);
  place.world = number(first_of({"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}), 0);
  if (environment("TORCHELASTIC_RUN_ID") != nullptr) {
    place.launcher.add("torchrun");
  } else if (environment("OMPI_COMM_WORLD_RANK") != nullptr) {
    place.launcher.add("mpirun");
  } else if (environment("SLURM_PROCID") != nullptr) {
    place.launcher.add("slurm");
  }
}

// Takes the job's name that `memtrace run` chose, so that `memtrace run` knows where to look. A name has digits
// and dashes. Returns false if there is no such name.
bool take_name() {
  const char* const name = environment("MEMTRACE_RUN");
  if (name == nullptr) return false;
  for (const char* at = name; *at != '\0'; ++at)
    if (*at != '-' && (*at < '0' || *at > '9')) return false;
  if (*name == '\0') return false;
  place.job.add(name);
  return true;
}

// Returns the FNV-1a hash of the command line.
std::uint64_t hash_of_command() {
  std::uint64_t hash = 0xCBF29CE484222325;
  const long fd = os::open_kernel("/proc/self/cmdline");
  if (fd < 0) return hash;
  char some[512];
  for (long got; (got = os::read_all(fd, some, sizeof some)) > 0;)
    for (long i = 0; i < got; ++i) hash = (hash ^ static_cast<unsigned char>(some[i])) * 0x100000001B3;
  os::close(fd);
  return hash;
}

// Founds the job. MEMTRACE_FOUNDED is "BEGAN COMMAND FILTERS", hexadecimal. The process of the job that records
// first uses BEGAN and COMMAND. FILTERS is the number of seccomp filters that the founder started with.
void found() {
  place.founder = true;
  place.began = os::unix_ns();
  place.command = hash_of_command();
  static constinit Line<96> assignment{}; // the environment points to it
  assignment.clear();
  assignment.add("MEMTRACE_FOUNDED=").add(place.began, 16).add(" ").add(place.command, 16);
  assignment.add(" ").add(filters_at_start(), 16);
  add_to_environment(assignment.text());
}

void join() {
  const char* const founded = environment("MEMTRACE_FOUNDED");
  const char* const gap = founded != nullptr ? std::strchr(founded, ' ') : nullptr;
  place.began = gap != nullptr ? hexadecimal_at(founded) : os::unix_ns();
  place.command = gap != nullptr ? hexadecimal_at(gap + 1) : 0;
}

// Names the job by time and pid. Computes the date itself, because gmtime_r would read the time zone's file and
// allocate.
void name_job() {
  const auto now = std::chrono::sys_seconds(std::chrono::seconds(os::unix_ns() / 1'000'000'000u));
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(now - day);
  const auto part = [](auto value) { return static_cast<std::uint64_t>(value); };
  place.job.padded(part(int{date.year()}), 4).padded(part(unsigned{date.month()}), 2);
  place.job.padded(part(unsigned{date.day()}), 2).add("-").padded(part(time.hours().count()), 2);
  place.job.padded(part(time.minutes().count()), 2).padded(part(time.seconds().count()), 2).add("-");
  place.job.add(part(os::process_id()));
}

void expand(const char* pattern, Path* out) {
  for (const char* at = pattern; *at != '\0'; ++at) {
    if (*at != '%' || at[1] == '\0') {
      out->add(at, 1);
      continue;
    }
    switch (*++at) {
      case 'p':
        out->add(static_cast<std::uint64_t>(os::process_id()));
        break;
      case 'h':
        out->add(place.host.text());
        break;
      case 'j':
        out->add(place.job.text());
        break;
      case 'r':
        if (place.rank != ~0u) out->add(place.rank);
        break;
      case '%':
        out->add("%");
        break;
      default:
        out->add("%").add(at, 1);
    }
  }
}

void absolute(const char* path, Path* out) {
  if (*path != '/') {
    char here[4096];
    if (os::working_directory(here, sizeof here)) out->add(here).add("/");
  }
  out->add(path);
}

// True if this process founded the job. A job's name ends with its founder's pid, which an exec keeps: the
// founder of `nice python train.py` is python.
bool founded_here() {
  const char* const pid = std::strrchr(place.job.text(), '-');
  return pid != nullptr && number(pid + 1, 0) == static_cast<std::uint32_t>(os::process_id());
}

} // namespace

bool starts_in_a_sandbox() {
  const char* at = environment("MEMTRACE_FOUNDED");
  for (int word = 0; at != nullptr && word < 2; ++word) {
    at = std::strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  return at != nullptr && filters_at_start() > hexadecimal_at(at);
}

// Static: recording begins on one thread at a time, and its stack may be small.
static constinit Path scratch{};

// True if another user planted a link at `path`. In a directory such as /tmp, another user can put a link at a
// name that memtrace is about to use. Most systems refuse to follow it (fs.protected_symlinks), but not all.
static bool is_planted_link(const char* path, const os::FileStatus& above) {
  constexpr std::uint32_t kShared = S_ISVTX | S_IWOTH;
  os::FileStatus look;
  return (above.mode & kShared) == kShared && os::look_at_link(path, &look) == 0 && S_ISLNK(look.mode) &&
         look.user != os::user() && look.user != above.user;
}

long make_directories(const char* directory, std::size_t* there) {
  scratch.clear();
  *there = 0;
  bool made = false;
  long result = 0;
  os::FileStatus above;
  for (const char* at = directory; *at != '\0' && (result == 0 || result == -EEXIST);) {
    const std::size_t bytes = std::strcspn(at + 1, "/") + 1;
    scratch.add(at, bytes);
    at += bytes;
    if (!made && is_planted_link(scratch.text(), above)) return os::kNotOurs;
    if (os::FileStatus look; !made && os::look_at(scratch.text(), &look) == 0) {
      *there = scratch.size();
      above = look;
      continue;
    }
    // A new directory takes the umask. In a directory such as /tmp, only this user may access it.
    result = os::make_directory(scratch.text(), !made && (above.mode & S_IWOTH) != 0 ? 0700 : 0777);
    made = true;
  }
  if (scratch.cut()) result = -ENAMETOOLONG;
  if (result == 0 || result == -EEXIST) return 0; // another process made it; if it is a file, opens in it fail
  remove_directories(directory, *there);
  return result;
}

void remove_directories(const char* directory, std::size_t there) {
  for (std::size_t bytes = std::strlen(directory); bytes > there;) {
    scratch.clear();
    scratch.add(directory, bytes);
    if (os::remove_directory(scratch.text()) < 0 && os::exists(scratch.text())) return;
    do --bytes;
    while (bytes > there && directory[bytes] != '/');
  }
}

long make_own_directory(const char* path, bool* made) {
  const long result = os::make_directory(path, 0700);
  *made = result == 0;
  if (result != -EEXIST) return result;
  os::FileStatus look;
  if (const long seen = os::look_at_link(path, &look); seen < 0) return seen;
  if (S_ISLNK(look.mode)) return -ELOOP;
  if (!S_ISDIR(look.mode)) return -ENOTDIR;
  if (look.user != os::user()) return os::kNotOurs;
  return (look.mode & (S_IWGRP | S_IWOTH)) == 0 ? 0 : os::kWritableByOthers;
}

// MEMTRACE_JOB is "ID;PATTERN": the founder's job and the absolute pattern of its directory, not yet expanded.
void find_place() {
  const int errno_before = errno;
  char host[65];
  if (os::host_name(host, sizeof host)) place.host.add(host);
  find_ranks();
  Path pattern;
  const char* const joined = environment("MEMTRACE_JOB");
  const char* const divider = joined != nullptr ? std::strchr(joined, ';') : nullptr;
  if (divider != nullptr) {
    place.job.add(joined, static_cast<std::size_t>(divider - joined));
    place.founder = founded_here();
    pattern.add(divider + 1);
    join();
  } else {
    found();
    if (!take_name()) name_job();
    const char* const asked = environment("MEMTRACE_OUT");
    absolute(asked != nullptr && *asked != '\0' ? asked : "memtrace-out/%j", &pattern);
    static constinit Path assignment{}; // the environment points to it
    assignment.add("MEMTRACE_JOB=").add(place.job.text()).add(";").add(pattern.text());
    add_to_environment(assignment.text());
  }
  expand(pattern.text(), &place.directory);
  const char* const last = std::strrchr(pattern.text(), '/');
  place.alone = last != nullptr && std::strstr(last, "%j") != nullptr;
  const char* const spool = environment("MEMTRACE_SPOOL");
  if (spool != nullptr && *spool != '\0') absolute(spool, &place.spool);
  const char* const temporary = environment("TMPDIR");
  place.temporary.add(temporary != nullptr && *temporary == '/' ? temporary : "/tmp");
  errno = errno_before;
}

} // namespace memtrace::record
