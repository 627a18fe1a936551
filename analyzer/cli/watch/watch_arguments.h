// Purpose: what `memtrace run` watches while a program runs, by its options.
#pragma once

#include <optional>
#include <string>

#include "analyzer/watch/memory_limit.h"

namespace memtrace::cli {

struct WatchArguments {
  std::optional<watch::Threshold> warn_at;
  std::string on_near_limit;  // a command for sh; "": none
  std::string metrics_file;   // "": none
  bool metrics_roles = false; // the level of each role, too

  bool warns() const { return warn_at || !on_near_limit.empty(); }
  bool watches() const { return warns() || !metrics_file.empty(); }
  watch::Threshold threshold() const { return warn_at.value_or(watch::Threshold::of_share(0.9)); }
};

} // namespace memtrace::cli
