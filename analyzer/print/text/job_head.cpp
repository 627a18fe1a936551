// Purpose: writes what a job of ranks must say first: which rank failed first, and which hosts differ.
#include "analyzer/print/text/job_head.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>

#include "analyzer/print/text/rank_table.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

// Returns "6 ranks exited with 1; rank 7 killed by SIGTERM", the most frequent end first.
std::string ends_of(const std::vector<DeadRank>& ranks) {
  std::map<std::string, std::vector<std::uint32_t>> by_end;
  for (const DeadRank& rank : ranks) by_end[rank.ended].push_back(rank.rank);
  std::vector<std::pair<std::string, std::vector<std::uint32_t>>> ends(by_end.begin(), by_end.end());
  std::stable_sort(ends.begin(), ends.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  std::string out;
  for (const auto& [end, numbers] : ends)
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", ranks_named(numbers), end);
  return out;
}

std::vector<std::uint32_t> numbers_of(const std::vector<DeadRank>& ranks) {
  std::vector<std::uint32_t> out;
  out.reserve(ranks.size());
  for (const DeadRank& rank : ranks) out.push_back(rank.rank);
  return out;
}

std::string capitalized(std::string text) {
  if (!text.empty()) text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

} // namespace

void write_first_death(const FirstDeath& death, Lines& lines) {
  const DeadRank& one = death.first.front();
  const std::string on = death.hosts > 1 ? " on " + one.host : "";
  if (death.first.size() == 1) {
    const std::string place = one.coordinates.empty() ? "" : " (" + one.coordinates + ")";
    lines.strong(printable(fmt::format("Rank {}{}{} failed first: {} after {}", one.rank, place, on, one.ended,
                                       duration(one.seconds))));
  } else {
    lines.strong(printable(fmt::format(
        "{} failed first, in an order that is not known: they ended less than {} apart on different hosts, and "
        "the error of their clocks is as large",
        capitalized(ranks_named(numbers_of(death.first))), duration(death.clock_error))));
    lines.paragraph("  ", printable(ends_of(death.first)));
  }
  if (!death.followed.empty()) {
    const std::string least = duration(death.least_later), most = duration(death.most_later);
    lines.paragraph(
        "  ", printable(fmt::format("{} later, {} followed: {}", least == most ? most : least + " to " + most,
                                    death.followed.size() == 1 ? std::string("one rank")
                                                               : fmt::format("{} ranks", death.followed.size()),
                                    ends_of(death.followed))));
  }
  if (death.clock_error > 0)
    lines.paragraph("  ",
                    death.clocks_compared
                        ? fmt::format("clocks of the hosts: compared by common steps, error at most {}",
                                      duration(death.clock_error))
                        : fmt::format("clocks of the hosts: assumed to agree within {}, common steps did not "
                                      "measure them",
                                      duration(death.clock_error)));
  lines.paragraph("  ",
                  fmt::format("what is known about its end: memtrace postmortem --rank {} DIR", one.rank));
  if (death.others != 0)
    lines.paragraph("  ", death.others == 1 ? std::string("One rank did not fail.")
                                            : fmt::format("{} ranks did not fail.", death.others));
}

void write_host_outliers(const std::vector<HostOutlier>& hosts, Lines& lines) {
  constexpr std::size_t kMostLines = 4;
  for (std::size_t i = 0; i < std::min(hosts.size(), kMostLines); ++i) {
    const HostOutlier& host = hosts[i];
    const std::string others =
        host.others == 1 ? "the other host" : fmt::format("the other {} hosts", host.others);
    lines.strong(printable(fmt::format("Host {} differs: {} of {}, {} {}{}", host.host, size(host.bytes),
                                       host.what, others, size(host.median),
                                       host.ranks.empty() ? "" : " (" + ranks_named(host.ranks) + ")")));
  }
  if (hosts.size() > kMostLines)
    lines.paragraph("", fmt::format("{} more hosts differ; --format json has them", hosts.size() - kMostLines));
}

void write_capacity(const std::vector<CapacityLimit>& limits, Lines& lines) {
  constexpr double kGibHour = 3600.0 * (1 << 30);
  for (const bool gpus : {false, true}) {
    double all = 0, unused = 0, cached = 0;
    for (const CapacityLimit& one : limits) {
      if ((one.of == "device") != gpus) continue;
      all += one.byte_seconds();
      unused += one.never_used();
      cached += one.cached_seconds.value_or(0);
    }
    if (all < kGibHour) continue;
    std::string text = fmt::format("{} of the job: {:.1f} GiB-hours, {:.1f} never used",
                                   gpus ? "GPU memory" : "Host memory", all / kGibHour, unused / kGibHour);
    if (cached > 0) text += fmt::format("; {:.1f} held by the framework, not used", cached / kGibHour);
    lines.paragraph("", text);
  }
}

} // namespace memtrace::report
