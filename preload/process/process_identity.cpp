// Purpose: the identity of this process, as records.
// Runs: when recording begins.
#include "preload/process/process_identity.h"

#include <cstring>

#include "preload/bounded/fixed_string.h"
#include "preload/format/file_headers.h"
#include "preload/format/process_events.h"
#include "preload/job/job_directory.h"
#include "preload/os/clocks.h"
#include "preload/os/files.h"
#include "preload/os/paths.h"
#include "preload/os/threads.h"
#include "preload/process/open_files.h"
#include "preload/process/own_process.h"
#include "preload/record/interner.h"
#include "preload/state/new_record.h"
#include "preload/state/settings.h"

namespace memtrace::record {

using format::RingRecord;
using format::TextId;

namespace {

constexpr std::size_t kArgumentBytes = 16 * 1024;

constinit char arguments[kArgumentBytes + 1];
constinit Parent parent{};
constinit TextId exe{}, argv{}, host{}, directory{}, job{}, launcher{};

TextId text_of_link(const char* path) {
  static constinit char target[4096] = {}; // static, because recording may begin on a small stack
  const long bytes = os::read_link(path, target, sizeof target);
  return bytes <= 0 ? TextId{0} : intern_text(target, static_cast<std::size_t>(bytes));
}

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool same_word(const char* text, std::size_t bytes, const char* wanted) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (wanted[i] == '\0' || (text[i] | 0x20) != wanted[i]) return false;
  return wanted[bytes] == '\0';
}

// True if `name` contains the word for a secret. Words are separated by dashes, dots and underscores:
// --hf-token names a secret, --tokenizer and --max-tokens do not.
bool names_a_secret(const char* name, std::size_t bytes) {
  static constexpr const char* secrets[] = {"token",  "secret", "secrets",    "password",   "passwd",
                                            "apikey", "pwd",    "credential", "credentials"};
  bool key_follows = false; // after "api", "access", "private": a key is a secret then
  for (std::size_t at = 0; at < bytes;) {
    std::size_t length = 0;
    while (at + length < bytes && is_alphanumeric(name[at + length])) ++length;
    const char* const word = name + at;
    for (const char* secret : secrets)
      if (same_word(word, length, secret)) return true;
    if (key_follows && same_word(word, length, "key")) return true;
    key_follows = same_word(word, length, "api") || same_word(word, length, "access") ||
                  same_word(word, length, "private");
    at += length + 1;
  }
  return false;
}

// True if `value` looks like the key of a service: a known start, then a long run of letters and digits.
bool is_a_secret(const char* value) {
  static constexpr const char* starts[] = {"hf_", "sk-", "ghp_", "github_pat_", "AKIA", "xoxb-", "glpat-"};
  for (const char* start : starts) {
    const std::size_t bytes = std::strlen(start);
    if (std::strncmp(value, start, bytes) != 0) continue;
    std::size_t run = 0;
    while (is_alphanumeric(value[bytes + run]) || (bytes > 3 && value[bytes + run] == '_') ||
           value[bytes + run] == '-')
      ++run;
    if (value[bytes + run] == '\0' && run >= (bytes > 4 ? 8u : 12u)) return true;
  }
  return false;
}

} // namespace

std::size_t redact(char* list, std::size_t bytes) {
  std::size_t out = 0;
  bool next_is_secret = false;
  for (std::size_t at = 0; at < bytes;) {
    char* const argument = list + at;
    const std::size_t length = strnlen(argument, bytes - at);
    std::size_t keep = length;
    const auto* const equals = static_cast<const char*>(std::memchr(argument, '=', length));
    const bool option = argument[0] == '-';
    if (next_is_secret && !option) {
      keep = 0;
    } else if (equals != nullptr && (names_a_secret(argument, static_cast<std::size_t>(equals - argument)) ||
                                     (argument[length] == '\0' && is_a_secret(equals + 1)))) {
      keep = static_cast<std::size_t>(equals + 1 - argument);
    } else if (argument[length] == '\0' && at + length < bytes && is_a_secret(argument)) {
      keep = 0;
    }
    next_is_secret = option && equals == nullptr && names_a_secret(argument, length);
    std::memmove(list + out, argument, keep);
    out += keep;
    if (keep < length) {
      const std::size_t stars = length - keep < 3 ? length - keep : 3;
      std::memset(list + out, '*', stars);
      out += stars;
    }
    at += length + 1;
    if (out < bytes) list[out++] = '\0';
  }
  return out;
}

void prepare_identity(const Parent& from) {
  parent = from;
  exe = text_of_link("/proc/self/exe");
  directory = text_of_link("/proc/self/cwd");
  host = intern_text(place.host.text(), place.host.size());
  job = intern_text(place.job.text(), place.job.size());
  launcher = place.launcher.size() == 0 ? TextId{0} : intern_text(place.launcher.text(), place.launcher.size());
  const long fd = os::open_kernel("/proc/self/cmdline");
  if (fd < 0) return;
  const long bytes = os::read_all(fd, arguments, kArgumentBytes);
  os::close(fd);
  if (bytes <= 0) return;
  argv = intern_text(arguments, redact(arguments, static_cast<std::size_t>(bytes)));
}

void put_identity(void (*put)(void* out, const RingRecord& record), void* out) {
  // The report's clock begins at this stamp. The time of this call is later: a process that holds
  // MEMTRACE_MIN_PEAK only after 20 s calls it then.
  RingRecord process = record_of(format::ProcessEvent{
      .pid = static_cast<std::uint32_t>(os::process_id()),
      .parent_pid = static_cast<std::uint32_t>(os::parent_id()),
      .unix_ns = start_time().unix_ns,
      .executable = exe,
      .arguments = argv,
      .host = host,
      .directory = directory,
      .exact_min = settings.exact_min,
      .sample_bytes = static_cast<std::uint32_t>(settings.sample),
      .page_bytes = format::kPage,
  });
  process.stamp = start_time().stamp;
  put(out, process);
  put(out,
      record_of(format::JobEvent{job, attempt().number, place.rank, place.local_rank, place.world, launcher}));
  if (parent.pid == 0) return;
  put(out, record_of(format::ForkEvent{parent.pid, 0, parent.trace_id, parent.stamp,
                                       static_cast<std::uint64_t>(parent.live > 0 ? parent.live : 0),
                                       static_cast<std::uint64_t>(parent.tensor > 0 ? parent.tensor : 0)}));
}

} // namespace memtrace::record
