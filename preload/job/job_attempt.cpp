// Purpose: finds which attempt of a job this is in its directory, and how the attempt before ended.
// Runs: once, when recording begins; also inside a malloc, on a small stack.
#include "preload/job/job_attempt.h"

#include <cerrno>
#include <cstring>
#include <initializer_list>

#include "preload/bounded/fixed_string.h"
#include "preload/format/file_headers.h"
#include "preload/job/host_quota.h"
#include "preload/job/job_directory.h"
#include "preload/job/other_process.h"
#include "preload/job/sibling_jobs.h"
#include "preload/kernel/proc_file.h"
#include "preload/os/clocks.h"
#include "preload/os/files.h"
#include "preload/os/paths.h"
#include "preload/os/threads.h"

namespace memtrace::record {
namespace {

constexpr unsigned kMostJobs = 1000; // job files of one directory that are read
constexpr std::uint64_t kRecent = 10'000'000'000;

// Static: one thread begins to record at a time, and its stack may be small.
constinit Path path{};
constinit Path other{};
constinit format::RingFileHeader header{};

struct Job {
  std::uint32_t attempt = 0; // 0: there is no job file
  std::uint64_t began = 0;   // Unix time in ns
  std::uint64_t command = 0; // a hash
  std::uint64_t failed = 0;  // bytes of the failed allocation after which a process of the job gave up
  Line<128> name;
  Line<128> host;
};
constinit Job job{};    // the job that was read last
constinit Job newest{}; // the newest job before this one
constinit Job last{};   // the newest earlier job of the same command
constinit Path own{};   // the file of this job
constinit bool wrote_own = false;
constinit std::uint64_t refused = 0; // bytes
constinit std::uint64_t refused_at = 0;

const char* field(const char* text, const char* key) {
  const char* const at = line_after(text, key);
  return at == nullptr ? "" : at;
}

const Path& job_file(const char* directory, unsigned index) {
  path.clear();
  path.add(directory).add("/job");
  if (index != 1) path.add("-").add(index);
  return path;
}

void read_job(const char* text) {
  const auto take = [](Line<128>& to, const char* from) {
    to.clear();
    to.add(from, std::strcspn(from, "\n"));
  };
  take(job.name, field(text, "job="));
  take(job.host, field(text, "host="));
  job.began = hexadecimal_at(field(text, "began="));
  job.command = hexadecimal_at(field(text, "command="));
  const std::uint64_t failed = number_at(field(text, "failed="));
  job.failed = failed == format::kNotSaid ? 0 : failed;
  const std::uint64_t attempt = number_at(field(text, "attempt="));
  job.attempt = attempt == 0 || attempt > kMostJobs ? 1 : static_cast<std::uint32_t>(attempt);
}

// If the file exists but is empty, another process is writing it: waits at most 50 ms. Returns false if the
// file cannot be read or stays empty.
bool read_job_file(const char* directory, unsigned index) {
  for (int tries = 0; tries < 50; ++tries) {
    const char* const text = read_own_file(job_file(directory, index).text());
    if (text == nullptr) return false;
    if (*text != '\0') {
      read_job(text);
      return true;
    }
    os::sleep_ns(1'000'000);
  }
  return false;
}

// Returns 0 or a negative errno.
long create_job_file(const char* directory, unsigned index, std::uint32_t attempt) {
  const long fd = os::create(job_file(directory, index).text());
  if (fd < 0) return fd;
  Line<512> text;
  text.add("job=").add(place.job.text()).add("\nhost=").add(place.host.text());
  text.add("\nattempt=").add(attempt).add("\nbegan=").add(place.began, 16);
  text.add("\ncommand=").add(place.command, 16).add("\n");
  os::write_all(fd, text.text(), text.size());
  os::close(fd);
  return 0;
}

// True if the process still writes its files. Used for a process on another host or in another pid namespace,
// where nothing else is known.
bool is_written(const char* directory, const char* stem) {
  other.clear();
  other.add(directory).add("/").add(stem);
  return os::unix_ns() < written_ns(other.text()) + kRecent;
}

// Reads the header of a ring file. Returns false if it cannot be read, or if its process ended normally.
bool read_rings(const char* rings) {
  const long fd = os::open_own(rings, os::For::reading);
  if (fd < 0) return false;
  const long got = os::read_all(fd, &header, sizeof header);
  os::close(fd);
  return got == static_cast<long>(sizeof header) && std::memcmp(header.magic, format::kRingMagic, 8) == 0 &&
         header.version == format::kVersion && header.ended == 0;
}

// Returns the kill counter of the cgroup of that process, if the cgroup still exists, else 0.
std::uint64_t kills_now() {
  header.group[sizeof header.group - 1] = '\0';
  const std::size_t bytes = std::strlen(header.group);
  if (bytes == 0) return 0;
  for (const char* name : {"memory.events", "memory.oom_control"}) {
    const char* const text = read_kernel_file(header.group, bytes, name);
    const std::uint64_t kills = text == nullptr ? format::kNotSaid : number_after(text, "oom_kill ");
    if (kills != format::kNotSaid) return kills;
  }
  return 0;
}

struct AttemptSearch {
  const char* directory;
  const Job* at;
  Attempt* out; // null: only find out whether a process of the attempt lives
  bool lives;
};

void look_at_claim(void* context, const char* stem, const char* rings) {
  AttemptSearch& look = *static_cast<AttemptSearch*>(context);
  std::uint32_t pid = 0;
  const std::uint64_t start = start_of(stem, &pid);
  if (start < look.at->began || look.lives) return;
  path.clear();
  if (std::strcmp(rings, "-") == 0) {
    path.add(look.directory).add("/").add(stem).add(".rings");
  } else {
    path.add(rings);
  }
  if (!read_rings(path.text())) return;
  const bool here = std::strcmp(look.at->host.text(), place.host.text()) == 0;
  if (here ? began_before(header.pid, start) : is_written(look.directory, stem)) {
    look.lives = true;
    return;
  }
  if (look.out == nullptr || start >= place.began) return;
  const bool counted = kills_now() > header.kills && header.near != 0;
  if (header.near == 0 || (look.out->died != 0 && !counted)) return;
  look.out->died = look.at->attempt;
  look.out->counted = counted;
  look.out->left = header.left;
  look.out->limit = header.limit;
}

bool lives(const char* directory, const Job& of) {
  AttemptSearch look{directory, &of, nullptr, false};
  each_claim(directory, of.host.text(), &look_at_claim, &look);
  return look.lives;
}

// Finds out how an attempt ended that is over. A kill is stronger evidence than a process that gave up.
void look_back(const char* directory, const Job& at, Attempt* out) {
  AttemptSearch look{directory, &at, out, false};
  each_claim(directory, at.host.text(), &look_at_claim, &look);
  if (out->died != 0 || at.failed == 0) return;
  out->died = at.attempt;
  out->failed = at.failed;
}

// True if the sibling is an earlier job of the same command. That job is then in `job`.
bool read_sibling(unsigned index) {
  return read_job_file(sibling(index), 1) && job.command == place.command && job.began <= place.began;
}

// Finds the number of the attempt if each job has its own directory. Jobs that run at the same time are one
// attempt.
void number_by_siblings(Attempt* out) {
  const unsigned count = find_siblings(place.directory.text());
  for (unsigned i = 0; i < count; ++i)
    if (read_sibling(i) && job.began > last.began) last = job;
  if (last.attempt == 0) return;
  out->number = last.attempt + 1;
  for (unsigned i = 0; i < count; ++i)
    if (read_sibling(i) && job.attempt == last.attempt && lives(sibling(i), job)) out->number = last.attempt;
  if (out->number == last.attempt) return;
  for (unsigned i = 0; i < count && out->died == 0; ++i)
    if (read_sibling(i) && job.attempt == last.attempt) look_back(sibling(i), job, out);
}

void number_by_files(const char* directory, std::uint32_t before, Attempt* out) {
  const bool at_once = before != 0 && lives(directory, newest);
  out->opens = !at_once; // else this job belongs to the running attempt
  out->number = at_once ? newest.attempt : before + 1;
  if (out->opens && last.attempt != 0) look_back(directory, last, out);
}

// A process of an attempt before `began` whose files may go.
struct OldFiles {
  const char* directory;
  std::uint64_t began; // Unix time in ns
  bool removed;
};

void drop_claim(void* context, const char* stem, const char* rings) {
  OldFiles& old = *static_cast<OldFiles*>(context);
  std::uint32_t pid = 0;
  const std::uint64_t start = start_of(stem, &pid);
  if (start == 0 || start >= old.began) return;
  path.clear();
  if (std::strcmp(rings, "-") == 0) {
    path.add(old.directory).add("/").add(stem).add(".rings");
  } else {
    path.add(rings);
  }
  // It may run. In another pid namespace only its files show that; at an orderly end the ring file goes.
  if (began_before(pid, start) || (os::exists(path.text()) && is_written(old.directory, stem))) return;
  other.clear();
  if (!os::exists(other.add(old.directory).add("/").add(stem).add(".memtrace").text())) return;
  remove_files_of(old.directory, stem, rings);
  old.removed = true;
}

} // namespace

bool drop_old_attempts(const char* directory) {
  if (place.shared.size() != 0) return false;
  newest = {};
  bool others = false;
  const auto each_other_job = [&](auto take) {
    for (unsigned index = 1; index <= kMostJobs && read_job_file(directory, index); ++index)
      if (std::strcmp(job.name.text(), place.job.text()) != 0) take();
  };
  each_other_job([&] {
    others = others || job.command != place.command;
    if (job.attempt > newest.attempt) newest = job;
  });
  if (others || newest.attempt == 0) return false;
  // Jobs that run are the present attempt, and the one before them remains.
  const std::uint32_t keep = newest.attempt - (lives(directory, newest) ? 1 : 0);
  OldFiles old{directory, place.began, false};
  each_other_job([&] {
    if (job.attempt >= keep && job.began < old.began) old.began = job.began;
  });
  each_claim(directory, place.host.text(), &drop_claim, &old);
  return old.removed;
}

Attempt take_attempt(const char* directory) {
  newest = last = {};
  Attempt out;
  std::uint32_t number = 0; // of the last attempt so far
  for (unsigned index = 1; index <= kMostJobs; ++index) {
    bool there = read_job_file(directory, index);
    if (!there) {
      out.opens = true;
      if (place.alone && newest.attempt == 0) {
        number_by_siblings(&out);
      } else {
        number_by_files(directory, number, &out);
      }
      const long made = create_job_file(directory, index, out.number);
      out.founds = made == 0;
      wrote_own = out.founds;
      if (out.founds) break;
      there = read_job_file(directory, index); // another process was first
      out = {};
      if (!there && made == -EEXIST) continue; // the name belongs to another user's file, or not to a file
    }
    own = job_file(directory, index);
    if (!there || std::strcmp(job.name.text(), place.job.text()) == 0) {
      if (there) out.number = job.attempt;
      return out;
    }
    number = job.attempt > number ? job.attempt : number;
    newest = job;
    if (job.command != place.command) continue;
    const std::uint64_t failed = job.attempt == last.attempt ? last.failed : 0;
    last = job;
    if (last.failed == 0) last.failed = failed;
  }
  own = path;
  return out;
}

const char* founded_job_file() {
  return wrote_own ? own.text() : "";
}

void remember_refusal(std::uint64_t bytes) {
  __atomic_store_n(&refused, bytes, __ATOMIC_RELAXED);
  __atomic_store_n(&refused_at, os::monotonic_ns(), __ATOMIC_RELAXED);
}

void note_giving_up() {
  const std::uint64_t bytes = __atomic_load_n(&refused, __ATOMIC_RELAXED);
  if (bytes == 0 || os::monotonic_ns() > __atomic_load_n(&refused_at, __ATOMIC_RELAXED) + kRecent) return;
  const long fd = os::open_own(own.text(), os::For::appending);
  if (fd < 0) return;
  Line<64> text;
  text.add("failed=").add(bytes).add("\n");
  os::write_all(fd, text.text(), text.size());
  os::close(fd);
}

} // namespace memtrace::record
