// Purpose: how a record is coded against its base, where writer and reader must agree.
#pragma once

#include <cstring>

#include "preload/format/predictor.h"

namespace memtrace::format {

// A record in a segment is coded against a base, which the Model (predictor.h) guesses from the records before
// it:
//
//   mask    1 byte: bits 0-5: word i follows; bit 6: the type follows, it is not the likely one; bit 7: kind
//   and
//           flags follow, they are not those of the base
//   type    1 byte, if bit 6
//   stamp   zigzag varint of the difference to the record before
//   block   of a death, if bit 0: varint of how many births ago the block was born, 1 to Model::kBirths; 0: of
//   none
//           of these, and its address follows as a word
//   head    kind (1 byte) and flags (2 bytes), if bit 7
//   words   those that the mask names (of a death from word 1 on)
//
// The base of a death has kind, flags, address and given bytes of the block that it refers to; where bit 0 is
// off, that is the one as many births ago as the base says. The base of a stack is refined once its flags are
// known. A word of layout w is a zigzag varint of the difference to the base's; a the same of both rotated
// right by 4 bits (addresses end in zeros); h two such varints of 32-bit halves (also word 1 of a Python
// frame); b eight raw bytes. A word that is not named is that of the base. After a restart, with which a
// segment without kContinues begins, all of a base is 0.
inline constexpr std::uint8_t kMaskType = 0x40;
inline constexpr std::uint8_t kMaskHead = 0x80;
inline constexpr std::size_t kMaxCoded = 2 + 10 + 1 + 3 + kWords * 10; // bytes of one record at most

// The layout of a word, which of a frame depends on its language.
constexpr char layout_of(std::size_t type, std::size_t word, std::uint16_t flags) {
  const bool python = type == static_cast<std::size_t>(EventType::stack) && (flags & kPythonFrame) != 0;
  return python && word == 1 ? 'h' : kEventLayouts[type][word];
}

// The address in the base of a death.
inline std::uint64_t& address_of(ModelSizes::Guess& base) {
  return base.word[0];
}
// Makes the base of a death like the block that it ends.
inline void refer_to(ModelSizes::Guess& base, const ModelSizes::Birth& birth) {
  base.word[0] = birth.address;
  base.word[1] = birth.given;
  base.kind = birth.kind;
  base.flags = birth.flags;
}
// Calls `code(i, word, expected)` for each word of a record, with the same one of its base.
template <class Code>
void each_word(const Payload& payload, const ModelSizes::Guess& base, Code code) {
  for (std::size_t i = 0; i < kWords; ++i) code(i, payload.word[i], base.word[i]);
}
// Calls `read(i, word)` for each word of the base that `mask` names, until one fails. False: one did.
template <class Read>
bool read_words(unsigned mask, ModelSizes::Guess& base, Read read) {
  for (unsigned left = mask & ((1u << kWords) - 1); left != 0; left &= left - 1) {
    const auto i = static_cast<std::size_t>(__builtin_ctz(left));
    if (!read(i, base.word[i])) return false;
  }
  return true;
}
// Sets the payload to the words of a base that became the record.
inline void take_words(Payload& payload, const ModelSizes::Guess& base) {
  std::memcpy(payload.word, base.word, sizeof payload.word);
}

constexpr std::uint64_t rotated(std::uint64_t address) {
  return address >> 4 | address << 60;
}
constexpr std::uint64_t unrotated(std::uint64_t rotated) {
  return rotated << 4 | rotated >> 60;
}

constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

} // namespace memtrace::format
