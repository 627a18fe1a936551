// Purpose: the checksum is CRC-32C, by either way, from any address and in any number of parts.
#include "preload/format/crc32c.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace memtrace::format {
namespace {

// The check value of the CRC catalogue, and RFC 3720, B.4.
TEST(Checksum, IsThatOfTheStandard) {
  EXPECT_EQ(checksum(0, "123456789", 9), 0xE3069283u);
  const std::vector<unsigned char> zeros(32, 0), ones(32, 0xFF);
  EXPECT_EQ(checksum(0, zeros.data(), 32), 0x8A9136AAu);
  EXPECT_EQ(checksum(0, ones.data(), 32), 0x62A8AB43u);
  EXPECT_EQ(~checksum_by_table(~0u, zeros.data(), 32), 0x8A9136AAu);
}

TEST(Checksum, TheInstructionAgreesWithTheTable) {
  if (!has_crc_instruction()) GTEST_SKIP() << "this processor has none";
  std::vector<unsigned char> bytes(100);
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(200));
  for (std::size_t from = 0; from < 9; ++from) {
    for (std::size_t size = 0; from + size <= bytes.size(); ++size) {
      ASSERT_EQ(checksum_by_instruction(0x12345678, bytes.data() + from, size),
                checksum_by_table(0x12345678, bytes.data() + from, size))
          << "from " << from << ", " << size << " bytes";
    }
  }
}

TEST(Checksum, GoesOnFromPartToPart) {
  const char text[] = "the header and then the payload";
  const std::uint32_t whole = checksum(0, text, sizeof text);
  for (std::size_t cut = 0; cut <= sizeof text; ++cut) {
    EXPECT_EQ(checksum(checksum(0, text, cut), text + cut, sizeof text - cut), whole) << cut;
  }
}

} // namespace
} // namespace memtrace::format
