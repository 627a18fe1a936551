// Purpose: reads and extends the environment without getenv and setenv.
// Runs: in the constructor.
#include "preload/os/environ.h"

#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "preload/os/gate/start_page.h"
#include "preload/os/mappings.h"

namespace memtrace::record {
namespace {

bool is_named(const char* entry, const char* name, std::size_t bytes) {
  return std::strncmp(entry, name, bytes) == 0 && entry[bytes] == '=';
}

// Not pointers: the loader would relocate each at every start.
constexpr char kNames[][28] = {"MEMTRACE",
                               "MEMTRACE_ARM_AT",
                               "MEMTRACE_ARM_GROWTH",
                               "MEMTRACE_CUPTI",
                               "MEMTRACE_EXACT_MIN",
                               "MEMTRACE_FOUNDED",
                               "MEMTRACE_JOB",
                               "MEMTRACE_MAX_NODE",
                               "MEMTRACE_MAX_TRACE",
                               "MEMTRACE_MIN_PEAK",
                               "MEMTRACE_ONLY",
                               "MEMTRACE_OUT",
                               "MEMTRACE_PHASES",
                               "MEMTRACE_QUIET",
                               "MEMTRACE_RANKS",
                               "MEMTRACE_RUN",
                               "MEMTRACE_RUNTIME",
                               "MEMTRACE_SAMPLE",
                               "MEMTRACE_SHARED",
                               "MEMTRACE_SKIP",
                               "MEMTRACE_SPOOL",
                               "MEMTRACE_STACKS",
                               "RANK",
                               "LOCAL_RANK",
                               "WORLD_SIZE",
                               "SLURM_PROCID",
                               "SLURM_LOCALID",
                               "SLURM_NTASKS",
                               "PMI_RANK",
                               "PMI_SIZE",
                               "PMI_LOCAL_RANK",
                               "PMIX_RANK",
                               "PALS_RANKID",
                               "PALS_LOCAL_RANKID",
                               "MPI_LOCALRANKID",
                               "TORCHELASTIC_RUN_ID",
                               "OMPI_COMM_WORLD_RANK",
                               "TMPDIR",
                               "OMPI_COMM_WORLD_SIZE",
                               "OMPI_COMM_WORLD_LOCAL_RANK"};
constexpr std::size_t kCount = sizeof kNames / sizeof *kNames;

// Entries of the environment with one of these names: few are set at a time. They are copied, because a program
// may write over its environment before its first event, as some do to show a title in the list of processes.
// If there is no room, the entry itself is kept.
ON_START_PAGE constinit const char* kept[kCount] = {};
ON_START_PAGE constinit char kept_texts[768] = {};
ON_START_PAGE constinit std::size_t kept_bytes = 0;
ON_START_PAGE constinit std::size_t kept_count = 0;
ON_START_PAGE constinit bool remembered = false;

bool is_start_name(const char* entry) {
  constexpr std::uint32_t kFirst = 1u << ('L' - 'A') | 1u << ('M' - 'A') | 1u << ('O' - 'A') |
                                   1u << ('P' - 'A') | 1u << ('R' - 'A') | 1u << ('S' - 'A') |
                                   1u << ('T' - 'A') | 1u << ('W' - 'A');
  const auto letter = static_cast<unsigned char>(*entry - 'A');
  if (letter >= 32 || (kFirst >> letter & 1) == 0) return false;
  for (std::size_t i = 0; i < kCount; ++i)
    if (kNames[i][0] == *entry && kNames[i][1] == entry[1] &&
        is_named(entry, kNames[i], std::strlen(kNames[i])))
      return true;
  return false;
}

const char* copy_of(const char* entry) {
  const std::size_t bytes = std::strlen(entry) + 1;
  if (bytes > sizeof kept_texts - kept_bytes) return entry;
  char* const copy = kept_texts + kept_bytes;
  std::memcpy(copy, entry, bytes);
  kept_bytes += bytes;
  return copy;
}

// Static, because most environments are small. Used only once: later, the program may have a pointer to it.
// glibc's setenv copies a list that it did not allocate.
constexpr std::size_t kOwnList = 160;
ON_START_PAGE constinit char* own_list[kOwnList] = {};

char** list_for(std::size_t entries) {
  if (entries <= kOwnList && (own_list[0] == nullptr || environ == own_list)) return own_list;
  return static_cast<char**>(os::map_private(entries * sizeof(char*)));
}

} // namespace

void remember_environment() {
  kept_count = kept_bytes = 0;
  for (char** entry = environ; entry != nullptr && *entry != nullptr && kept_count < kCount; ++entry)
    if (is_start_name(*entry)) kept[kept_count++] = copy_of(*entry);
  remembered = true;
}

const char* start_environment(const char* name) {
  if (!remembered) return environment(name);
  const std::size_t bytes = std::strlen(name);
  for (std::size_t i = 0; i < kept_count; ++i)
    if (is_named(kept[i], name, bytes)) return kept[i] + bytes + 1;
  return nullptr;
}

const char* environment(const char* name) {
  const std::size_t bytes = std::strlen(name);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    if (is_named(*entry, name, bytes)) return *entry + bytes + 1;
  return nullptr;
}

const char* environment_text(const char* name) {
  const char* const value = environment(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

bool add_to_environment(const char* assignment) {
  const std::size_t bytes = static_cast<std::size_t>(std::strchr(assignment, '=') - assignment);
  std::size_t count = 0;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry, ++count) {
    if (!is_named(*entry, assignment, bytes)) continue;
    *entry = const_cast<char*>(assignment);
    return true;
  }
  char** const list = list_for(count + 2);
  if (list == nullptr) return false;
  for (std::size_t i = 0; i < count && list != environ; ++i) list[i] = environ[i];
  list[count] = const_cast<char*>(assignment);
  list[count + 1] = nullptr;
  environ = list;
  return true;
}

} // namespace memtrace::record
