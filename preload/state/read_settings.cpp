// Purpose: reads the settings from the MEMTRACE_* variables.
// Runs: once, in the constructor.
#include "preload/state/read_settings.h"

#include <cstring>

#include "preload/format/setting_values.h"
#include "preload/os/environ.h"
#include "preload/state/messages.h"
#include "preload/state/settings.h"

namespace memtrace::record {

namespace {

// Programs that a training job starts by the hundred and that do not train: compilers, the programs that
// compilers start, and shells.
constexpr char kDefaultSkip[] =
    "cc1,cc1plus,lto1,lto-wrapper,collect2,as,ld,ld.*,gold,*gcc*,*g++*,clang*,c++,cc,nvcc,cicc,cudafe++,ptxas,"
    "fatbinary,nvlink,ninja,make,cmake,sh,bash,dash,zsh,fish,busybox,git,git-*";

void complain(const char* name, const char* value, const char* expected) {
  say({name, "=", value, " cannot be read (expected ", expected, "): the default is used"});
}

void read_size(const char* name, std::uint64_t* out) {
  const char* const value = environment(name);
  if (value == nullptr || *value == '\0') return;
  if (!format::parse_size(value, out)) complain(name, value, "bytes, with K, M or G");
}

void read_bound(const char* name, std::uint64_t* out) {
  read_size(name, out);
  if (*out >= kLeastTrace) return;
  *out = kLeastTrace;
  say({name, "=", environment(name), " is too little: 1M is used"});
}

template <class Choice, std::size_t N>
void read_choice(const char* name, const char* const (&names)[N], Choice* out, const char* expected) {
  const char* const value = environment(name);
  if (value == nullptr || *value == '\0') return;
  for (std::size_t i = 0; i < N; ++i) {
    if (std::strcmp(value, names[i]) != 0) continue;
    *out = static_cast<Choice>(i);
    return;
  }
  complain(name, value, expected);
}

bool is_set(const char* name) {
  const char* const value = environment(name);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

} // namespace

bool matches(const char* pattern, std::size_t bytes, const char* name) {
  if (bytes == 0) return *name == '\0';
  if (*pattern == '*') {
    for (const char* rest = name;; ++rest) {
      if (matches(pattern + 1, bytes - 1, rest)) return true;
      if (*rest == '\0') return false;
    }
  }
  if (*name == '\0' || (*pattern != '?' && *pattern != *name)) return false;
  return matches(pattern + 1, bytes - 1, name + 1);
}

bool matches_any(const char* list, const char* name) {
  for (const char* at = list; *at != '\0';) {
    const std::size_t bytes = std::strcspn(at, ",");
    if (bytes != 0 && matches(at, bytes, name)) return true;
    at += bytes + (at[bytes] == ',' ? 1 : 0);
  }
  return false;
}

void read_settings(const char* exe) {
  std::uint64_t exact = settings.exact_min, sample = settings.sample;
  read_size("MEMTRACE_EXACT_MIN", &exact);
  read_size("MEMTRACE_SAMPLE", &sample);
  if (sample == 1) exact = 1; // MEMTRACE_SAMPLE=1 records every block
  settings.exact_min = exact;
  settings.sample = sample < kMaxMean ? sample : kMaxMean;
  read_bound("MEMTRACE_MAX_TRACE", &settings.max_trace);
  read_bound("MEMTRACE_MAX_NODE", &settings.max_node);
  read_size("MEMTRACE_MIN_PEAK", &settings.min_peak);
  read_choice("MEMTRACE_STACKS", format::kStackNames, &settings.stacks, "python, native, both or none");
  read_choice("MEMTRACE_PHASES", format::kPhaseSourceNames, &settings.phases, "auto, marks or off");
  std::size_t cupti = 0; // hooks/cuda reads it again; here only a value that cannot be read is named
  read_choice("MEMTRACE_CUPTI", format::kCuptiNames, &cupti, "auto, on or off");
  settings.quiet = is_set("MEMTRACE_QUIET");

  const char* const enabled = environment("MEMTRACE");
  const char* const only = environment("MEMTRACE_ONLY");
  const char* const skip = environment("MEMTRACE_SKIP");
  settings.active = (enabled == nullptr || std::strcmp(enabled, "0") != 0) &&
                    (only == nullptr || *only == '\0' || matches_any(only, exe)) &&
                    !matches_any(skip != nullptr ? skip : kDefaultSkip, exe);
}

} // namespace memtrace::record
