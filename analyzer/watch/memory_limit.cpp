// Purpose: a limit of memory, how much of it is used, and the share from which it counts as near.
#include "analyzer/watch/memory_limit.h"

#include <fmt/core.h>

#include <charconv>

#include "analyzer/wording/utf8.h"
#include "preload/format/setting_values.h"

namespace memtrace::watch {

const char* kind_label(LimitKind kind) {
  switch (kind) {
    case LimitKind::cgroup:
      return "cgroup";
    case LimitKind::address_space:
      return "address_space";
    case LimitKind::data:
      return "data";
    case LimitKind::machine:
      return "machine";
    case LimitKind::device:
      return "device";
  }
  return "";
}

std::string limit_words(const LimitUse& use) {
  switch (use.kind) {
    case LimitKind::cgroup:
      return "of the cgroup " + report::printable(use.name);
    case LimitKind::address_space:
      return fmt::format("of the address space of pid {} (ulimit -v)", use.pid);
    case LimitKind::data:
      return fmt::format("of the data segment of pid {} (ulimit -d)", use.pid);
    case LimitKind::machine:
      return "of the machine";
    case LimitKind::device:
      return "of " + report::printable(use.name);
  }
  return "";
}

std::string limit_key(const LimitUse& use) {
  return fmt::format("{} {} {}", kind_label(use.kind), use.pid, use.name);
}

// `90` would mean 90 bytes, and never warn.
constexpr std::uint64_t kLeastLeft = 1 << 20;

std::optional<Threshold> threshold_of(const std::string& text) {
  if (!text.ends_with('%')) {
    std::uint64_t bytes = 0;
    if (!format::parse_size(text.c_str(), &bytes) || bytes < kLeastLeft) return std::nullopt;
    return Threshold::of_bytes_left(bytes);
  }
  double percent = 0;
  const char* const last = text.data() + text.size() - 1;
  const auto [end, error] = std::from_chars(text.data(), last, percent, std::chars_format::fixed);
  if (error != std::errc() || end != last || !(percent > 0 && percent < 100)) return std::nullopt;
  return Threshold::of_share(percent / 100);
}

} // namespace memtrace::watch
