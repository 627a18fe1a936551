// Purpose: CRC-32C, by the processor's instruction if it has one.
// Writer and reader must compute equal checksums, so they share this code.
#pragma once

#include <cpuid.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memtrace::format {

struct ChecksumTable {
  std::uint32_t entry[256];
};
constexpr ChecksumTable make_checksum_table() {
  ChecksumTable table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0x82F63B78u : 0u);
    table.entry[i] = value;
  }
  return table;
}
inline constexpr ChecksumTable kChecksumTable = make_checksum_table();

inline std::uint32_t checksum_by_table(std::uint32_t value, const unsigned char* at, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) value = value >> 8 ^ kChecksumTable.entry[(value ^ at[i]) & 0xFF];
  return value;
}

__attribute__((target("sse4.2"))) inline std::uint32_t checksum_by_instruction(std::uint32_t value,
                                                                               const unsigned char* at,
                                                                               std::size_t bytes) {
  std::uint64_t wide = value;
  for (; bytes >= sizeof wide; at += sizeof wide, bytes -= sizeof wide) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  value = static_cast<std::uint32_t>(wide);
  for (; bytes != 0; ++at, --bytes) value = __builtin_ia32_crc32qi(value, *at);
  return value;
}

// The processor is queried only once, because a hypervisor traps each query. __builtin_cpu_supports does not
// work here: a constructor of libgcc fills in its answer, and the preload object does not have that
// constructor.
enum class Crc : std::uint8_t { unasked, absent, present };
inline constinit std::atomic<Crc> known_crc{Crc::unasked};

inline bool has_crc_instruction() {
  Crc known = known_crc.load(std::memory_order_relaxed);
  if (known == Crc::unasked) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    known = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSE4_2) != 0 ? Crc::present : Crc::absent;
    known_crc.store(known, std::memory_order_relaxed);
  }
  return known == Crc::present;
}

// Returns the CRC-32C (Castagnoli) of the data. To chain calls, start with seed 0 and pass on the last result.
inline std::uint32_t checksum(std::uint32_t seed, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  return has_crc_instruction() ? ~checksum_by_instruction(~seed, at, bytes)
                               : ~checksum_by_table(~seed, at, bytes);
}

} // namespace memtrace::format
