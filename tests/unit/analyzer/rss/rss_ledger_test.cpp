// Purpose: the ledger of the peak says how far it is from the peak that the kernel measured.
#include "analyzer/rss/rss_ledger.h"

#include <gtest/gtest.h>

#include "folder.h"

namespace memtrace::tests {
namespace {

using format::EventType;

class PeakLedger : public Folder {
 protected:
  std::vector<std::string> remarks(std::uint64_t total, std::uint64_t high_water) {
    Builder b;
    b.on(0).birth(1, 100);
    b.put(EventType::sample_ledger, 0, format::kLedgerAsked, {total, high_water, 0, 0, 0, 7});
    write(".memtrace", b.bytes());
    return report::ledgers(analysis()).at(0).remarks;
  }
};

TEST_F(PeakLedger, APeakWithoutALedgerIsSaid) {
  constexpr std::uint64_t kMib = 1 << 20;
  EXPECT_TRUE(remarks(980 * kMib, 1000 * kMib).empty()) << "2 %";
  const std::vector<std::string> said = remarks(979 * kMib, 1000 * kMib);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0],
            "RSS was up to 21.00 MiB higher at its peak (VmHWM 1000.00 MiB). memtrace took no ledger then");
}

} // namespace
} // namespace memtrace::tests
