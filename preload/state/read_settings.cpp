// Purpose: reads the settings from the MEMTRACE_* variables.
// Runs: once, in the constructor.
#include "preload/state/read_settings.h"

#include <cstring>

#include "preload/format/recorded_programs.h"
#include "preload/format/setting_values.h"
#include "preload/os/environ.h"
#include "preload/state/messages.h"
#include "preload/state/settings.h"

namespace memtrace::record {

namespace {

void complain(const char* name, const char* value, const char* expected) {
  say({name, "=", value, " cannot be read (expected ", expected, "): the default is used"});
}

void read_size(const char* name, std::uint64_t* out) {
  const char* const value = start_environment(name);
  if (value == nullptr || *value == '\0') return;
  if (!format::parse_size(value, out)) complain(name, value, "bytes, with K, M or G");
}

void read_bound(const char* name, std::uint64_t* out) {
  read_size(name, out);
  if (*out >= kLeastTrace) return;
  *out = kLeastTrace;
  say({name, "=", start_environment(name), " is too little: 1M is used"});
}

template <class Choice, std::size_t N>
void read_choice(const char* name, const char* const (&names)[N], Choice* out, const char* expected) {
  const char* const value = start_environment(name);
  if (value == nullptr || *value == '\0') return;
  for (std::size_t i = 0; i < N; ++i) {
    if (std::strcmp(value, names[i]) != 0) continue;
    *out = static_cast<Choice>(i);
    return;
  }
  complain(name, value, expected);
}

void read_sharing() {
  const char* const value = start_environment("MEMTRACE_SHARED");
  settings.copy_seconds = value != nullptr ? format::parse_seconds(value) : 0;
  if (settings.copy_seconds != 0) {
    settings.sharing = Sharing::on;
  } else {
    read_choice("MEMTRACE_SHARED", format::kSharingNames, &settings.sharing, "auto, on, off or seconds");
  }
}

bool is_set(const char* name) {
  const char* const value = start_environment(name);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

} // namespace

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
  read_sharing();
  std::size_t cupti = 0; // hooks/cuda reads it again; here only a value that cannot be read is named
  read_choice("MEMTRACE_CUPTI", format::kCuptiNames, &cupti, "auto, on or off");
  const char* const grid = start_environment("MEMTRACE_RANKS"); // process_notes.cpp reads it again
  if (grid != nullptr && *grid != '\0' && format::parse_grid(grid) == 0)
    complain("MEMTRACE_RANKS", grid, "sizes of axes, as in pp=2,dp=4,tp=8");
  settings.quiet = is_set("MEMTRACE_QUIET");

  const char* const mode = start_environment("MEMTRACE");
  settings.armed = mode != nullptr && std::strcmp(mode, "armed") == 0;
  read_size("MEMTRACE_ARM_AT", &settings.arm_at);
  read_size("MEMTRACE_ARM_GROWTH", &settings.arm_growth);

  settings.active =
      format::records_in(exe, mode, start_environment("MEMTRACE_ONLY"), start_environment("MEMTRACE_SKIP"));
}

} // namespace memtrace::record
