// Room: trace. Trusts no byte.
// Job: the payload of one segment -> ring records, one at a time.
#include "trace/decode.h"

#include <cstring>

namespace memtrace::trace {

bool Decoder::fail() {
  damaged_ = true;
  at_ = end_;
  return false;
}

bool Decoder::varint(std::uint64_t& out) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at_ == end_) return false;
    const std::uint8_t byte = *at_++;
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) {
      out = value;
      return shift != 63 || byte <= 1;
    }
  }
  return false;
}

bool Decoder::half(std::uint32_t last, std::uint32_t& out) {
  std::uint64_t coded = 0;
  if (!varint(coded)) return false;
  // Modulo 2^32: a writer's difference always fits, a damaged one must not be undefined behaviour.
  out = static_cast<std::uint32_t>(last + static_cast<std::uint64_t>(format::unzigzag(coded)));
  return true;
}

bool Decoder::word(char layout, std::uint64_t& value) {
  if (layout == 'w') {
    std::uint64_t coded = 0;
    if (!varint(coded)) return false;
    value += static_cast<std::uint64_t>(format::unzigzag(coded));
    return true;
  }
  if (layout == 'h') {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    if (!half(format::low(value), low) || !half(format::high(value), high)) return false;
    value = format::halves(low, high);
    return true;
  }
  // 'b', and '0': the writer codes a word that should be unused as raw bytes, too.
  if (static_cast<std::size_t>(end_ - at_) < sizeof value) return false;
  std::memcpy(&value, at_, sizeof value);
  at_ += sizeof value;
  return true;
}

bool Decoder::head(Last& last) {
  if (end_ - at_ < 3) return false;
  last.kind = at_[0];
  last.flags = static_cast<std::uint16_t>(at_[1] | at_[2] << 8);
  at_ += 3;
  return true;
}

bool Decoder::next(format::RingRecord& out) {
  if (at_ == end_) return false;
  if (end_ - at_ < 2) return fail();
  const std::uint8_t type = *at_++;
  const std::uint8_t mask = *at_++;
  if (type >= format::kEventTypes || (mask & 0x40) != 0) return fail();
  Last& last = last_[type];
  std::uint64_t delta = 0;
  if (!varint(delta)) return fail();
  stamp_ += static_cast<std::uint64_t>(format::unzigzag(delta));
  if ((mask & format::kMaskHead) != 0 && !head(last)) return fail();
  for (std::size_t i = 0; i < format::kWords; ++i) {
    if ((mask >> i & 1) != 0 && !word(format::kEventLayouts[type][i], last.word[i])) return fail();
  }
  out.commit = 0;
  out.type = type;
  out.kind = last.kind;
  out.flags = last.flags;
  out.stamp = stamp_;
  std::memcpy(out.word, last.word, sizeof out.word);
  return true;
}

} // namespace memtrace::trace
