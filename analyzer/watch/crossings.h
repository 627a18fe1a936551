// Purpose: decides when to warn of a limit: once when it comes near, and again only after memory fell.
// Pure: it takes figures and a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/watch/memory_limit.h"

namespace memtrace::watch {

class Crossings {
 public:
  static constexpr std::uint64_t kLeastGapNs = 60'000'000'000; // between two warnings
  static constexpr std::uint64_t kFallPart = 20;               // of a limit: so much must memory fall

  explicit Crossings(Threshold threshold) : threshold_(threshold) {}

  // Takes all limits as they are now. If the machine's memory is near at the first look, it was so without this
  // job, and counts once it has fallen. Returns the nearest of those to warn of, if there is one. If a limit
  // came near within a minute after the last warning, and is still near at the end of that minute, warns then.
  std::optional<LimitUse> look(std::uint64_t now, const std::vector<LimitUse>& uses);

 private:
  Threshold threshold_;
  std::map<std::string, bool> told_; // of each limit that is near, or has not fallen enough: warned of?
  std::optional<std::uint64_t> warned_;
  bool looked_ = false;
};

} // namespace memtrace::watch
