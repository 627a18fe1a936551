// Purpose: how far the clocks of a job's hosts are apart, by the steps that their ranks made together.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace memtrace::report {

// s: clocks of two hosts are set by NTP, which keeps them within some tens of ms where it runs well. memtrace
// does not know whether it does.
inline constexpr double kClockError = 1;

// When the last steps of a rank began, by the clock of its host.
struct StepsOfRank {
  std::uint32_t rank = 0;
  std::string host;
  std::map<std::uint64_t, double> begins; // s since the epoch, by the number of the step
};

struct HostClock {
  double ahead = 0; // s before the clock of the lowest rank's host
  double error = kClockError;
  bool measured = false; // by steps
};

// The clocks of two hosts, compared.
struct ClockDifference {
  double ahead = 0; // s that the first clock is before the second
  double error = 0; // s; 0: it is one host
};

class HostClocks {
 public:
  HostClocks() = default;
  // Ranks that train together are never more than a step apart: each step ends when all have added their
  // gradients up. So the difference of the times at which one step began on two hosts is that of the clocks,
  // but for the length of a step. It is used if at least 8 steps agree within the length of a step. Ranks that
  // run on their own drift apart, and do not agree.
  explicit HostClocks(const std::vector<StepsOfRank>& ranks);

  ClockDifference between(const std::string& a, const std::string& b) const;
  const std::map<std::string, HostClock>& all() const { return clocks_; } // empty: one host, or not known

 private:
  std::map<std::string, HostClock> clocks_;
};

} // namespace memtrace::report
