// Purpose: training is starved for memory if pages are read again and that takes a relevant part of the time.
#include <gtest/gtest.h>

#include "folder.h"
#include "tests/unit/sizes.h"

namespace memtrace::tests {
namespace {

constexpr std::uint64_t kPages = kMiB / 4096; // of a MiB
constexpr std::uint64_t kSecond = 1'000'000'000;

class Starved : public Folder {
 protected:
  // The counts since the cgroup began.
  void sample(std::uint64_t refaulted_mib, std::uint64_t faults, std::uint64_t stalled_us,
              std::uint64_t limit = 300 * kMiB) {
    b.put(EventType::sample_cgroup, 0, format::kVersionTwo,
          {group, 290 * kMiB, limit, anonymous, 290 * kMiB - anonymous, 0});
    b.put(EventType::sample_charge, 0, 0, {0, 0, 0, 0, 0, 0});
    b.put(EventType::sample_pressure, 0, format::kCountsOfLevel,
          {0, refaulted_mib * kPages, 0, others * faults});
    b.put(EventType::sample_pressure, 0, 0, {0, stalled_us, 0, 0});
    b.put(EventType::sample_pressure, 0, format::kCountsOfProcess, {0, format::kNotSaid, 0, faults});
  }
  // Steps of a second, each with these counts.
  std::vector<report::Finding> train(std::uint64_t refaulted_mib, std::uint64_t faults,
                                     std::uint64_t stalled_us, std::uint64_t limit = 300 * kMiB) {
    b.on(1).birth(0x10000, 256 * kMiB, Kind::mmap_file, 0, user);
    b.on(0);
    anonymous = 280 * kMiB;
    sample(1000, 50, 7000, limit); // before training: not its bytes
    anonymous = 100 * kMiB;
    for (std::uint64_t i = 1; i <= steps; ++i) {
      b.on(1).begin("forward").tensor(i, kMiB).end("forward").begin("step").end("step").wait(kSecond);
      b.on(0);
      sample(1000 + imported_mib + i * refaulted_mib, 50 + i * faults, 7000 + i * stalled_us, limit);
    }
    b.on(1).exit(0);
    write(".memtrace", b.bytes());
    std::vector<report::Finding> out = report::find(analysis());
    std::erase_if(out, [](const report::Finding& one) { return one.id != "starved-for-memory"; });
    return out;
  }
  static bool has(const std::vector<std::string>& texts, const std::string& part) {
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& one) { return one.find(part) != std::string::npos; });
  }
  std::uint64_t anonymous = 0;
  std::uint64_t steps = 4, imported_mib = 0; // read again before the first sample in a step
  std::uint64_t others = 1;                  // faults of the cgroup for one of the process
  Builder b;
  std::uint32_t user = b.python_frame("main", "/home/u/read.py", 7, 0);
  std::uint32_t group = b.text("/sys/fs/cgroup/job");
};

TEST_F(Starved, BytesAndStallsOfAStep) {
  const auto found = train(100, 3, 200'000);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].bytes, static_cast<std::int64_t>(100 * kMiB));
  EXPECT_TRUE(found[0].certain);
  EXPECT_EQ(found[0].title,
            "Short of memory: 100.00 MiB per step were dropped and read again; tasks wait for memory 200 ms of "
            "1.0 s per step");
  EXPECT_TRUE(has(found[0].evidence, "419430400 bytes of files")) << found[0].evidence[0];
  EXPECT_TRUE(has(found[0].evidence, "12 of 12 major faults of that cgroup are of the process"));
  EXPECT_TRUE(has(found[0].evidence, "0.80 of 4.00 s: a task of that cgroup waited"));
  EXPECT_TRUE(has(found[0].sentences, "The limit of the cgroup, 300.00 MiB, leaves 200.00 MiB"))
      << "190 of 290 are page cache";
  EXPECT_TRUE(has(found[0].sentences, "The largest file mapping, 256.00 MiB, was made at read.py:7"));
  EXPECT_NE(found[0].remedy.find("limit of cgroup /job above 300.00 MiB"), std::string::npos)
      << found[0].remedy;
}

TEST_F(Starved, ImportsBeforeTheFirstSampledStepAreNoneOfItsBytes) {
  steps = 8;
  imported_mib = 900;
  const auto found = train(100, 3, 200'000);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].bytes, static_cast<std::int64_t>(100 * kMiB));
  EXPECT_TRUE(has(found[0].evidence, "steps 1 to 7")) << found[0].evidence[0];
}

TEST_F(Starved, PageFaultsThatWaitForStorage) {
  const auto found = train(100, 600, 0);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].title.find("600 page faults per step wait for storage"), std::string::npos)
      << found[0].title;
}

TEST_F(Starved, AFileThatIsReadAgainWithoutWaits) {
  EXPECT_TRUE(train(100, 400, 40'000).empty());
}

TEST_F(Starved, WaitsWithoutPagesThatAreReadAgain) {
  EXPECT_TRUE(train(3, 900, 500'000).empty()) << "the first read of a file, or stalls of other causes";
}

TEST_F(Starved, AnotherProgramOfTheCgroup) {
  others = 20;
  EXPECT_TRUE(train(100, 100, 200'000).empty());
}

TEST_F(Starved, NoCgroupIsNearItsLimit) {
  const auto found = train(100, 3, 200'000, 3000 * kMiB);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(has(found[0].sentences, "the machine's memory was short"));
}

} // namespace
} // namespace memtrace::tests
