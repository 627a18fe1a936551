// Purpose: a process changes its own claim alone, also after a fork, and if the file of the claims was
// replaced.
#include "preload/job/host_quota.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "child.h"
#include "preload/job/job_directory.h"
#include "preload/state/settings.h"
#include "tests/unit/sizes.h"

namespace memtrace::record {
namespace {

using tests::in_child;
using tests::kMiB;
using tests::Scratch;

std::string text_of_claims(const Scratch& scratch) {
  std::ifstream file(scratch.file("node-h"), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string line_of_claim(std::uint64_t bytes, const std::string& stem) {
  std::string digits = std::to_string(bytes);
  digits.insert(0, 20 - digits.size(), '0');
  return digits + " " + stem + " -\n";
}

Quota claim_in(const Scratch& scratch, const char* stem, std::uint64_t bytes) {
  return claim_quota(scratch.path().c_str(), stem, "-", bytes);
}

void begin_claims() {
  place.host.clear();
  place.host.add("h");
  settings.max_node = 1024 * kMiB;
}

// Runs `body` in a forked child of this process, which keeps the parent's claim.
template <class Body>
void in_next_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(HostQuota, EachProcessOfAFamilyHasItsLine) {
  const Scratch scratch;
  in_child([&] {
    begin_claims();
    claim_in(scratch, "h-1-a", 8 * kMiB);
    std::thread([&] { // a fork on another thread than the one that claimed
      in_next_child([&] {
        claim_in(scratch, "h-2-b", 16 * kMiB);
        in_next_child([&] {
          claim_in(scratch, "h-3-c", 4 * kMiB);
          EXPECT_TRUE(raise_claim(5 * kMiB));
        });
        EXPECT_TRUE(raise_claim(17 * kMiB));
        EXPECT_EQ(claim_again(18 * kMiB).bytes, 18 * kMiB);
      });
    })
        .join();
    EXPECT_TRUE(raise_claim(9 * kMiB));
    EXPECT_EQ(text_of_claims(scratch), line_of_claim(9 * kMiB, "h-1-a") + line_of_claim(18 * kMiB, "h-2-b") +
                                           line_of_claim(5 * kMiB, "h-3-c"));
  });
}

// Its line cannot be added, because the disk is full, or a limit on file sizes is reached.
TEST(HostQuota, AChildWithoutALineLeavesItsParentsAlone) {
  const Scratch scratch;
  in_child([&] {
    begin_claims();
    claim_in(scratch, "h-1-a", 600 * kMiB);
    const std::string before = text_of_claims(scratch);
    in_next_child([&] {
      const rlimit limit = {before.size(), before.size()};
      ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
      EXPECT_EQ(claim_in(scratch, "h-2-b", 16 * kMiB).detail, Detail::counts);
      claim_again(32 * kMiB);
      EXPECT_FALSE(raise_claim(64 * kMiB));
    });
    EXPECT_EQ(text_of_claims(scratch), before);
  });
}

TEST(HostQuota, AFileThatWasReplacedIsLeftAlone) {
  const Scratch scratch;
  in_child([&] {
    begin_claims();
    claim_in(scratch, "h-1-a", 8 * kMiB);
    claim_in(scratch, "h-2-b", 16 * kMiB);
    const std::string others = line_of_claim(7, "h-9-z") + line_of_claim(8, "h-10-y");
    for (const std::string& now : {std::string(), others}) {
      std::filesystem::remove(scratch.file("node-h"));
      std::ofstream(scratch.file("node-h"), std::ios::binary) << now;
      EXPECT_FALSE(raise_claim(64 * kMiB));
      EXPECT_EQ(claim_again(32 * kMiB).bytes, 16 * kMiB);
      EXPECT_EQ(text_of_claims(scratch), now);
    }
  });
}

} // namespace
} // namespace memtrace::record
