// Room: report.
// Job: when the recorder could write to no file: what it recorded then is what its rings had room for.
#include "report/rings_only.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "report/utf8.h"

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
    return "the program put itself in a sandbox (seccomp), where memtrace makes no system call";
  if (why == "credentials") return "the program changed its credentials, and those cannot write the trace";
  return printable(why);
}

} // namespace

// The recorder notes "rings_only=WHY STAMP" and, where files can be written again, "files_again=STAMP".
std::vector<RingsOnly> rings_only(const View& view) {
  constexpr std::string_view kFrom = "rings_only=", kUntil = "files_again=";
  std::vector<RingsOnly> times;
  std::vector<format::Stamp> ends;
  for (const std::string& note : view.facts().notes) {
    const std::string_view text = note;
    if (text.starts_with(kUntil)) ends.push_back(stamp_at(text.substr(kUntil.size())));
    const std::size_t gap = text.find(' ');
    if (!text.starts_with(kFrom) || gap == std::string_view::npos) continue;
    times.push_back(
        {std::string(text.substr(kFrom.size(), gap - kFrom.size())), stamp_at(text.substr(gap + 1)), 0});
  }
  std::ranges::sort(times, {}, &RingsOnly::from);
  std::ranges::sort(ends);
  for (RingsOnly& time : times)
    if (const auto end = std::ranges::upper_bound(ends, time.from); end != ends.end()) time.until = *end;
  return times;
}

std::string rings_only_text(const View& view) {
  const std::vector<RingsOnly> times = rings_only(view);
  std::string text;
  for (std::size_t i = 0; i < std::min(times.size(), kMostSaid); ++i) {
    const RingsOnly& time = times[i];
    text += fmt::format("{}From {:.2f} s ", i == 0 ? "" : " ", view.seconds(time.from));
    text += time.until == 0 ? "on" : fmt::format("to {:.2f} s", view.seconds(time.until));
    text += fmt::format(" memtrace could write to no file, and recorded what its rings had room for: {}.",
                        reason(time.why));
  }
  if (times.size() > kMostSaid) text += fmt::format(" So it was {} times in all.", times.size());
  return text;
}

} // namespace memtrace::report
