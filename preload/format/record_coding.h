// Purpose: the coding of a record against its base, which writer and reader must share.
#pragma once

#include <cstring>

#include "preload/format/predictor.h"

namespace memtrace::format {

// A record in a segment is coded against a base. The Model (predictor.h) guesses the base from earlier records:
//
//   mask    1 byte: bits 0-5: word i follows; bit 6: the type follows, because it is not the likely type;
//           bit 7: kind and flags follow, because they differ from those of the base
//   type    1 byte, if bit 6
//   stamp   zigzag varint of the difference to the record before
//   block   of a death, if bit 0: varint of how many births ago the block was born, 1 to Model::kBirths;
//           0: it is not one of these blocks, and its address follows as a word
//   head    kind (1 byte) and flags (2 bytes), if bit 7
//   words   those that the mask names (of a death from word 1 on)
//
// The base of a death has the kind, flags, address and given bytes of the block that it refers to. If bit 0 is
// off, the base says how many births ago that block was born. The base of a stack is refined once its flags are
// known.
//
// A word of layout w is a zigzag varint of the difference to the base's word. Layout a is like w, but both
// words are first rotated right by 4 bits, because addresses end in zeros. Layout h is two such varints, of the
// 32-bit halves. Word 1 of a Python frame has this layout too. Layout b is eight raw bytes. If the mask does
// not name a word, the word is equal to the base's.
//
// A segment without kContinues begins with a restart. After a restart, all fields of a base are 0.
inline constexpr std::uint8_t kMaskType = 0x40;
inline constexpr std::uint8_t kMaskHead = 0x80;
inline constexpr std::size_t kMaxCoded = 2 + 10 + 1 + 3 + kWords * 10; // bytes of one record at most

// Returns the layout of a word. In a frame, it depends on the frame's language.
constexpr char layout_of(std::size_t type, std::size_t word, std::uint16_t flags) {
  const bool python = type == static_cast<std::size_t>(EventType::stack) && (flags & kPythonFrame) != 0;
  return python && word == 1 ? 'h' : kEventLayouts[type][word];
}

// Returns the address in the base of a death.
inline std::uint64_t& address_of(ModelSizes::Guess& base) {
  return base.word[0];
}
// Makes the base of a death refer to the block that the death ends.
inline void refer_to(ModelSizes::Guess& base, const ModelSizes::Birth& birth) {
  base.word[0] = birth.address;
  base.word[1] = birth.given;
  base.kind = birth.kind;
  base.flags = birth.flags;
}
// Returns a bit for each word of a record that differs from that of its base.
inline unsigned words_that_differ(const Payload& payload, const ModelSizes::Guess& base) {
  unsigned words = 0;
#pragma GCC unroll 6
  for (std::size_t i = 0; i < kWords; ++i) words |= static_cast<unsigned>(payload.word[i] != base.word[i]) << i;
  return words;
}
// Calls `code(i, word, expected)` for each word of a record that `words` names. `expected` is word i of its
// base.
template <class Code>
[[gnu::always_inline]] inline void each_word(unsigned words, const Payload& payload,
                                             const ModelSizes::Guess& base, Code code) {
  for (; words != 0; words &= words - 1) {
    const auto i = static_cast<std::size_t>(__builtin_ctz(words));
    code(i, payload.word[i], base.word[i]);
  }
}
// Calls `code(i, word, expected)` for each word of a record, which it may set. `expected` is word i of `base`.
template <class Code>
void each_word(Payload& payload, const Payload& base, Code code) {
  for (std::size_t i = 0; i < kWords; ++i) code(i, payload.word[i], base.word[i]);
}
// Calls `read(i, word)` for each word of the base that `mask` names, until a call fails. Returns false if a
// call failed. Unrolled and inlined, so that the words of a base in registers stay there: if each was stored
// alone, the copy of all would wait for these stores.
template <class Read>
[[gnu::always_inline]] inline bool read_words(unsigned mask, ModelSizes::Guess& base, Read read) {
#pragma GCC unroll 6
  for (std::size_t i = 0; i < kWords; ++i)
    if ((mask >> i & 1) != 0 && !read(i, base.word[i])) return false;
  return true;
}
// Sets the payload to the words of a base after all named words were read into it.
template <class Tables = WholeTables>
void take_words(Payload& payload, const ModelSizes::Guess& base) {
  Tables::copy_words(payload.word, base.word);
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
