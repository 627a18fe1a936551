// Purpose: decides when to warn of a limit: once when it comes near, and again only after memory fell.
#include "analyzer/watch/crossings.h"

namespace memtrace::watch {

std::optional<LimitUse> Crossings::look(std::uint64_t now, const std::vector<LimitUse>& uses) {
  std::map<std::string, bool> told;
  std::optional<LimitUse> nearest;
  for (const LimitUse& use : uses) {
    const std::string key = limit_key(use);
    const auto before = told_.find(key);
    const std::uint64_t level = threshold_.level(use.limit);
    const bool near = use.used >= level;
    // Falling a little is noise. A limit that is not near any more, and was not warned of, is forgotten.
    const bool stays = before != told_.end() && before->second && use.used + use.limit / kFallPart > level;
    if (!near && !stays) continue;
    const bool before_the_job = !looked_ && use.kind == LimitKind::machine;
    const bool known = before_the_job || (before != told_.end() && before->second);
    told[key] = known;
    if (near && !known && (!nearest || use.left() < nearest->left())) nearest = use;
  }
  told_ = std::move(told);
  looked_ = true;
  if (!nearest || (warned_ && now - *warned_ < kLeastGapNs)) return std::nullopt;
  warned_ = now;
  // One warning is for all limits that are near.
  for (auto& [key, known] : told_) known = true;
  return nearest;
}

} // namespace memtrace::watch
