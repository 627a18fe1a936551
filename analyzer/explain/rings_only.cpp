// Purpose: finds the times in which the recorder could not write files: then only events that fit the rings
// survive.
#include "analyzer/explain/rings_only.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

constexpr std::size_t kMostSaid = 3;

format::Stamp stamp_at(std::string_view text) {
  format::Stamp stamp = 0;
  std::from_chars(text.data(), text.data() + text.size(), stamp);
  return stamp;
}

std::string reason(const std::string& why) {
  if (why == "sandbox")
    return "the program put itself in a sandbox (seccomp, or PR_SET_TSC), where memtrace makes no system call";
  if (why == "credentials") return "the program changed its credentials, and those cannot write the trace";
  return printable(why);
}

} // namespace

// Past times are notes, "rings_only=WHY FROM UNTIL". The current one is in the header of the rings.
std::vector<RingsOnly> rings_only(const ProcessAnalysis& analysis) {
  constexpr std::string_view kKey = "rings_only=";
  std::vector<RingsOnly> times;
  for (const std::string& note : analysis.facts().notes) {
    const std::size_t first = note.find(' ');
    const std::size_t second = first == std::string::npos ? first : note.find(' ', first + 1);
    if (!note.starts_with(kKey) || second == std::string::npos) continue;
    times.push_back({note.substr(kKey.size(), first - kKey.size()), stamp_at(note.substr(first + 1)),
                     stamp_at(note.substr(second + 1))});
  }
  std::ranges::sort(times, {}, &RingsOnly::from);
  const trace::Losses& losses = analysis.losses;
  if (losses.shut_since != 0)
    times.push_back({losses.shut_why < format::kLosses ? format::kLossNames[losses.shut_why] : "unknown",
                     losses.shut_since, 0});
  return times;
}

std::string rings_only_text(const ProcessAnalysis& analysis) {
  const std::vector<RingsOnly> times = rings_only(analysis);
  std::string text;
  for (std::size_t i = 0; i < std::min(times.size(), kMostSaid); ++i) {
    const RingsOnly& time = times[i];
    text += fmt::format("{}From {:.2f} s ", i == 0 ? "" : " ", analysis.seconds(time.from));
    text += time.until == 0 ? "on" : fmt::format("to {:.2f} s", analysis.seconds(time.until));
    text += fmt::format(" memtrace could write to no file, and recorded what its rings had room for: {}.",
                        reason(time.why));
  }
  if (times.size() > kMostSaid) text += fmt::format(" So it was {} times in all.", times.size());
  return text;
}

} // namespace memtrace::report
