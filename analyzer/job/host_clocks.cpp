// Purpose: how far the clocks of a job's hosts are apart, by the steps that their ranks made together.
#include "analyzer/job/host_clocks.h"

#include <algorithm>
#include <cmath>

namespace memtrace::report {
namespace {

constexpr std::size_t kFewestSteps = 8;

double middle(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Returns the clock of a rank's host against that of another rank.
HostClock compared(const StepsOfRank& rank, const StepsOfRank& with) {
  std::vector<double> ahead, lengths;
  for (auto at = with.begins.begin(); at != with.begins.end(); ++at) {
    if (const auto next = std::next(at); next != with.begins.end() && next->first == at->first + 1)
      lengths.push_back(next->second - at->second);
    if (const auto other = rank.begins.find(at->first); other != rank.begins.end())
      ahead.push_back(other->second - at->second);
  }
  if (ahead.size() < kFewestSteps || lengths.size() < kFewestSteps - 1) return {};
  const auto [least, most] = std::minmax_element(ahead.begin(), ahead.end());
  const double longest = *std::max_element(lengths.begin(), lengths.end());
  if (*most - *least > longest) return {};
  HostClock out{middle(ahead), longest, true};
  // The assumption is better if steps are long, and they do not contradict it.
  if (out.error >= kClockError && std::abs(out.ahead) <= kClockError + out.error) return {};
  return out;
}

} // namespace

HostClocks::HostClocks(const std::vector<StepsOfRank>& ranks) {
  const auto lowest = std::min_element(
      ranks.begin(), ranks.end(), [](const StepsOfRank& a, const StepsOfRank& b) { return a.rank < b.rank; });
  for (const StepsOfRank& rank : ranks) {
    if (rank.host == lowest->host) continue;
    HostClock clock = compared(rank, *lowest);
    const auto [at, fresh] = clocks_.try_emplace(rank.host, clock);
    if (!fresh && clock.measured && (!at->second.measured || clock.error < at->second.error))
      at->second = clock;
  }
  if (!clocks_.empty()) clocks_[lowest->host] = {0, 0, true};
}

ClockDifference HostClocks::between(const std::string& a, const std::string& b) const {
  if (a == b) return {};
  const auto one = clocks_.find(a), other = clocks_.find(b);
  const bool known =
      one != clocks_.end() && other != clocks_.end() && one->second.measured && other->second.measured;
  if (!known) return {0, kClockError};
  return {one->second.ahead - other->second.ahead, one->second.error + other->second.error};
}

} // namespace memtrace::report
