// Purpose: decodes the payload of one segment into ring records, one at a time.
#include "analyzer/decode/segment_decoder.h"

#include <cstring>

namespace memtrace::trace {

bool Decoder::fail() {
  damaged_ = true;
  at_ = end_;
  return false;
}

// The three functions below take a sixth of a report's instructions. Inlined, they take 3 % of all fewer (10
// MB: 2,480 to 2,408 million by callgrind).

// Most numbers have one byte or two.
[[gnu::always_inline]] inline bool Decoder::varint(std::uint64_t& out) {
  if (end_ - at_ < 2) return long_varint(out);
  if (at_[0] < 0x80) {
    out = *at_++;
    return true;
  }
  if (at_[1] >= 0x80) return long_varint(out);
  out = static_cast<std::uint64_t>(at_[0] & 0x7F) | static_cast<std::uint64_t>(at_[1]) << 7;
  at_ += 2;
  return true;
}

bool Decoder::long_varint(std::uint64_t& out) {
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

[[gnu::always_inline]] inline bool Decoder::half(std::uint32_t last, std::uint32_t& out) {
  std::uint64_t coded = 0;
  if (!varint(coded)) return false;
  // Modulo 2^32: the writer's difference always fits, and a damaged one must not cause undefined behaviour.
  out = static_cast<std::uint32_t>(last + static_cast<std::uint64_t>(format::unzigzag(coded)));
  return true;
}

[[gnu::always_inline]] inline bool Decoder::word(char layout, std::uint64_t& value) {
  if (layout == 'w') {
    std::uint64_t coded = 0;
    if (!varint(coded)) return false;
    value += static_cast<std::uint64_t>(format::unzigzag(coded));
    return true;
  }
  if (layout == 'a') {
    std::uint64_t coded = 0;
    if (!varint(coded)) return false;
    value = format::unrotated(format::rotated(value) + static_cast<std::uint64_t>(format::unzigzag(coded)));
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

[[gnu::always_inline]] inline bool Decoder::head(Model::Guess& base) {
  if (end_ - at_ < 3) return false;
  base.kind = at_[0];
  base.flags = static_cast<std::uint16_t>(at_[1] | at_[2] << 8);
  at_ += 3;
  return true;
}

// Reads which block a death ends, and sets the base to the values of that block.
[[gnu::always_inline]] inline bool Decoder::block(std::uint8_t mask, Model::Guess& base) {
  if ((mask & 1) != 0) {
    std::uint64_t distance = 0;
    if (!varint(distance) || distance > Model::kBirths) return false;
    base.distance = static_cast<std::uint16_t>(distance);
    if (distance == 0) return word('a', format::address_of(base));
  }
  const Model::Birth* const birth = model_->born(base.distance);
  if (birth == nullptr) return false;
  format::refer_to(base, *birth);
  return true;
}

bool Decoder::next(format::RingRecord& out) {
  if (at_ == end_) return false;
  const std::uint8_t mask = *at_++;
  std::size_t type = model_->likely_type();
  if ((mask & format::kMaskType) != 0) {
    if (at_ == end_) return fail();
    type = *at_++;
  }
  std::uint64_t delta = 0;
  if (type >= format::kEventTypes || !varint(delta)) return fail();
  Model::Guess base = model_->base(type);
  const bool death = type == static_cast<std::size_t>(format::EventType::death);
  if (death && !block(mask, base)) return fail();
  if ((mask & format::kMaskHead) != 0 && !head(base)) return fail();
  if (type == static_cast<std::size_t>(format::EventType::stack)) {
    Model::Guess frame = base;
    model_->refine(frame, (base.flags & format::kPythonFrame) != 0);
    base = frame;
  }
  const unsigned coded = death ? mask & ~1u : mask; // block() took the first word of a death
  const auto read = [&](std::size_t i, std::uint64_t & value) __attribute__((always_inline)) {
    return word(format::layout_of(type, i, base.flags), value);
  };
  if (!format::read_words(coded, base, read)) return fail();
  out.commit = 0;
  out.type = static_cast<std::uint8_t>(type);
  out.kind = base.kind;
  out.flags = base.flags;
  out.stamp = model_->stamp + static_cast<std::uint64_t>(format::unzigzag(delta));
  format::take_words<GrowingTables>(out.payload, base);
  model_->learn(out, death ? base.distance : 0);
  return true;
}

} // namespace memtrace::trace
