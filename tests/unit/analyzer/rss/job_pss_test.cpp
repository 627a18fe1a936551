// Purpose: the moment at which the processes of a machine had most together, against a search over all moments.
#include "analyzer/rss/job_pss.h"
#include "tests/unit/seed.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::kSecond;

struct Process {
  std::uint64_t began = 0, ended = 0;                        // seconds
  std::vector<std::pair<std::uint64_t, std::uint64_t>> said; // second, PSS
  trace::Facts facts;
  trace::Samples samples;
};

// Times are whole seconds, so that many fall together.
std::vector<Process> some_processes(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t most) { return random() % most; };
  std::vector<Process> out(2 + below(4));
  for (Process& one : out) {
    one.began = 1000 + below(6);
    one.ended = one.began + 2 + below(10);
    one.facts.host = "node";
    one.facts.start_unix_ns = one.began * kSecond;
    one.facts.start_stamp = 77;
    one.facts.last_stamp = 77 + (one.ended - one.began) * kSecond;
    for (std::uint64_t at = one.began + below(3); at <= one.ended; at += 1 + below(3)) {
      one.said.emplace_back(at, 1 + below(1000));
      trace::Event event{};
      event.stamp = 77 + (at - one.began) * kSecond;
      format::SampleShareEvent share{};
      share.pss = one.said.back().second;
      event.put(share);
      one.samples.add(event);
    }
    if (one.said.empty()) return some_processes(seed + 1000);
  }
  return out;
}

struct Best {
  bool agreed = false;
  std::uint64_t pss = 0;
  auto operator<=>(const Best&) const = default; // NOLINT(modernize-use-nullptr)
};

// By the definition in family.h. What is said in the second in which another process ends is said before that.
Best at(const std::vector<Process>& processes, std::uint64_t second) {
  std::uint64_t changed = 0;
  for (const Process& one : processes) {
    if (one.began <= second) changed = std::max(changed, one.began);
    if (one.ended < second) changed = std::max(changed, one.ended + 1);
  }
  Best out{true, 0};
  for (const Process& one : processes) {
    if (one.began > second || one.ended < second) continue;
    std::uint64_t when = 0, pss = 0;
    for (const auto& [said, bytes] : one.said)
      if (said <= second) when = said, pss = bytes;
    out.agreed = out.agreed && when >= changed && when != 0;
    out.pss += pss;
  }
  return out;
}

TEST(Family, IsTakenAtTheHighestMoment) {
  const std::uint64_t first = tests::seed(0);
  for (std::uint64_t seed = first; seed < first + 300; ++seed) {
    const std::vector<Process> processes = some_processes(seed);
    Best agreed, any;
    std::vector<FamilyMember> relatives;
    for (const Process& one : processes) {
      relatives.push_back({&one.facts, &one.samples, "worker"});
      for (const auto& said : one.said) {
        const Best moment = at(processes, said.first);
        if (moment.agreed) agreed = std::max(agreed, moment);
        if (moment.pss > any.pss) any = moment;
      }
    }
    const Best best = agreed.agreed && 10 * agreed.pss >= 8 * any.pss ? agreed : any;
    const auto found = sum_family(relatives);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->ledger.total, best.pss) << "seed " << seed;
    if (best.pss != any.pss || any.agreed) {
      EXPECT_EQ(found->ledger.remarks.empty(), best.agreed) << "seed " << seed;
    }
    std::uint64_t sum = 0;
    for (const Family::Member& member : found->members) sum += member.share.pss;
    EXPECT_EQ(sum, best.pss) << "seed " << seed;
  }
}

} // namespace
} // namespace memtrace::report
