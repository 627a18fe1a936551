// Purpose: finds the job of this process, and the directories of its files.
// Runs: in the constructor, and once when the recorder starts.
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
#include "preload/os/gate/start_page.h"
#include "preload/os/paths.h"
#include "preload/os/threads.h"

namespace memtrace::record {

namespace {

const char* first_of(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* const value = start_environment(name);
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
  place.rank = number(
      first_of({"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "PALS_RANKID"}), ~0u);
  place.local_rank = number(first_of({"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK",
                                      "PMI_LOCAL_RANK", "PALS_LOCAL_RANKID", "MPI_LOCALRANKID"}),
                            ~0u);
  place.world = number(first_of({"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}), 0);
  if (start_environment("TORCHELASTIC_RUN_ID") != nullptr) {
    place.launcher.add("torchrun");
  } else if (start_environment("OMPI_COMM_WORLD_RANK") != nullptr) {
    place.launcher.add("mpirun");
  } else if (start_environment("SLURM_PROCID") != nullptr) {
    place.launcher.add("slurm");
  } else if (start_environment("PALS_RANKID") != nullptr) {
    place.launcher.add("pals");
  } else if (start_environment("PMI_RANK") != nullptr || start_environment("PMIX_RANK") != nullptr) {
    place.launcher.add("mpirun");
  }
}

// Returns the job's name that `memtrace run` chose, so that `memtrace run` knows where to look. A name has
// digits and dashes. Returns null if there is no such name.
const char* chosen_name() {
  const char* const name = start_environment("MEMTRACE_RUN");
  if (name == nullptr || *name == '\0') return nullptr;
  for (const char* at = name; *at != '\0'; ++at)
    if (*at != '-' && (*at < '0' || *at > '9')) return nullptr;
  return name;
}

std::uint64_t hash_of(const char* text, std::size_t bytes) { // FNV-1a
  std::uint64_t hash = 0xCBF29CE484222325;
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x100000001B3;
  return hash;
}

// The job that this process founded. The environment points to the founded text and to the given ones, which
// the program may write over.
struct FoundedJob {
  const char* command = nullptr; // the command line: `command_bytes` bytes
  std::size_t command_bytes = 0;
  std::uint64_t command_hash = 0;
  std::uint64_t began = 0;
  const char* assignment = nullptr; // MEMTRACE_JOB=...; null: this process has founded none
  Line<96> founded;                 // MEMTRACE_FOUNDED=...
  Line<512> short_assignment, short_given;
};
ON_START_PAGE constinit FoundedJob own_job{};
constinit Line<4400> long_assignment{}, long_given{};

constexpr std::uint64_t kNotCounted = ~std::uint64_t{0};
constexpr std::size_t kJobName = sizeof "MEMTRACE_JOB=" - 1;

// MEMTRACE_FOUNDED is "BEGAN COMMAND FILTERS", hexadecimal. The process of the job that records first uses
// BEGAN and COMMAND. FILTERS is the number of seccomp filters that the founder started with. The founder counts
// them when its recorder starts: that is before memtrace sees a call that adds one, and to read them takes 14
// us.
void write_founded(std::uint64_t filters) {
  own_job.founded.clear();
  own_job.founded.add("MEMTRACE_FOUNDED=").add(own_job.began, 16).add(" ").add(own_job.command_hash, 16);
  own_job.founded.add(" ").add(filters, 16);
}

void join() {
  const char* const founded = start_environment("MEMTRACE_FOUNDED");
  const char* const gap = founded != nullptr ? std::strchr(founded, ' ') : nullptr;
  place.began = gap != nullptr ? hexadecimal_at(founded) : os::unix_ns();
  place.command = gap != nullptr ? hexadecimal_at(gap + 1) : 0;
}

// Names the job by time and pid. Computes the date itself, because gmtime_r would read the time zone's file and
// allocate.
template <class Text>
void name_by_time(Text& out) {
  const auto now = std::chrono::sys_seconds(std::chrono::seconds(own_job.began / 1'000'000'000u));
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(now - day);
  const auto part = [](auto value) { return static_cast<std::uint64_t>(value); };
  out.padded(part(int{date.year()}), 4).padded(part(unsigned{date.month()}), 2);
  out.padded(part(unsigned{date.day()}), 2).add("-").padded(part(time.hours().count()), 2);
  out.padded(part(time.minutes().count()), 2).padded(part(time.seconds().count()), 2).add("-");
  out.add(part(os::process_id()));
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

// The first buffer touches no new page of the stack.
template <class Text>
void absolute(const char* path, Text* out) {
  const auto add_here = [&](char* here, std::size_t capacity) {
    const bool fits = os::working_directory(here, capacity);
    if (fits) out->add(here).add("/");
    return fits;
  };
  char here[256];
  if (*path != '/' && !add_here(here, sizeof here)) {
    static constinit char there[4096] = {};
    add_here(there, sizeof there);
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
  const char* at = start_environment("MEMTRACE_FOUNDED");
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

void remember_command(const char* arguments, std::size_t bytes) {
  own_job.command = arguments;
  own_job.command_bytes = bytes;
}

// MEMTRACE_JOB is "ID;PATTERN": the founder's job and the absolute pattern of its directory, not yet expanded.
static const char* joined_job() {
  const char* const joined = start_environment("MEMTRACE_JOB");
  return joined != nullptr && std::strchr(joined, ';') != nullptr ? joined : nullptr;
}

template <class Text>
static bool assign_job(Text& out) {
  out.add("MEMTRACE_JOB=");
  if (const char* const chosen = chosen_name(); chosen != nullptr)
    out.add(chosen);
  else
    name_by_time(out);
  const char* const asked = start_environment("MEMTRACE_OUT");
  out.add(";");
  absolute(asked != nullptr && *asked != '\0' ? asked : "memtrace-out/%j", &out);
  own_job.assignment = out.text();
  return !out.cut();
}

void found_job() {
  if (own_job.assignment != nullptr || joined_job() != nullptr) return;
  own_job.began = os::unix_ns_of_kernel();
  own_job.command_hash = hash_of(own_job.command, own_job.command_bytes);
  write_founded(kNotCounted);
  add_to_environment(own_job.founded.text());
  if (assign_job(own_job.short_assignment)) {
    add_to_environment(own_job.short_given.add(own_job.assignment).text());
  } else {
    assign_job(long_assignment);
    add_to_environment(long_given.add(own_job.assignment).text());
  }
}

void count_filters() {
  found_job();
  if (own_job.assignment != nullptr) write_founded(filters_at_start());
}

void find_place() {
  const int errno_before = errno;
  char host[65];
  if (os::host_name(host, sizeof host)) place.host.add(host);
  find_ranks();
  count_filters();
  const char* const job = own_job.assignment != nullptr ? own_job.assignment + kJobName : joined_job();
  const char* const divider = std::strchr(job, ';');
  place.job.add(job, static_cast<std::size_t>(divider - job));
  if (own_job.assignment != nullptr) {
    place.founder = true;
    place.began = own_job.began;
    place.command = own_job.command_hash;
  } else {
    place.founder = founded_here();
    join();
  }
  const char* const pattern = divider + 1;
  expand(pattern, &place.directory);
  const char* const last = std::strrchr(pattern, '/');
  place.alone = last != nullptr && std::strstr(last, "%j") != nullptr;
  const char* const spool = start_environment("MEMTRACE_SPOOL");
  if (spool != nullptr && *spool != '\0') absolute(spool, &place.spool);
  const char* const temporary = start_environment("TMPDIR");
  place.temporary.add(temporary != nullptr && *temporary == '/' ? temporary : "/tmp");
  errno = errno_before;
}

} // namespace memtrace::record
