// Purpose: the columns of a block: each has the bytes of one field of one type of record.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "preload/format/records.h"

namespace memtrace::columns {

// A type of record has a column for its stamps, kinds and flags, and two for each word of its payload.
inline constexpr std::size_t kStamp = 0, kKind = 1, kFlags = 2, kFirstWord = 3;
inline constexpr std::size_t kFirstSecond = kFirstWord + format::kWords;
inline constexpr std::size_t kColumnsOfType = kFirstSecond + format::kWords;

// The columns before those of the types: the runs of the file, the bytes that are in no segment, the types.
inline constexpr std::size_t kRuns = 0, kBytes = 1, kTypes = 2, kFirstType = 3;
inline constexpr std::size_t kColumns = kFirstType + format::kEventTypes * kColumnsOfType;

constexpr std::size_t column_of(std::size_t type, std::size_t field) {
  return kFirstType + type * kColumnsOfType + field;
}
constexpr std::size_t word_column(std::size_t type, std::size_t word) {
  return column_of(type, kFirstWord + word);
}
// The column of the high half of a word, or of an address that the word's own column does not say.
constexpr std::size_t second_column(std::size_t type, std::size_t word) {
  return column_of(type, kFirstSecond + word);
}

// The columns of the block that is being written.
class ColumnOutput {
 public:
  static constexpr bool kWrites = true;

  void byte(std::size_t column, std::uint8_t& value);
  void number(std::size_t column, std::uint64_t& value); // as a varint
  void eight(std::size_t column, std::uint64_t& value);  // as eight bytes
  void text(std::size_t column, std::string_view bytes) { columns_[column] += bytes; }
  void fail() {} // only a reader meets what cannot be

  // Returns the directory and the columns of the block, and empties it.
  std::string take();

 private:
  std::array<std::string, kColumns> columns_;
};

// The columns of one block that is read. After a missing or invalid byte, failed() is true, and the values
// mean nothing.
class ColumnInput {
 public:
  static constexpr bool kWrites = false;

  // The bytes must exist as long as this object.
  explicit ColumnInput(std::string_view block);

  void byte(std::size_t column, std::uint8_t& value);
  void number(std::size_t column, std::uint64_t& value);
  void eight(std::size_t column, std::uint64_t& value);
  std::string_view text(std::size_t column, std::uint64_t bytes);
  bool at_end(std::size_t column) const { return columns_[column].empty(); }
  void fail() { failed_ = true; }
  bool failed() const { return failed_; }

 private:
  bool divide(std::string_view block);

  std::array<std::string_view, kColumns> columns_; // what is left of each
  bool failed_;
};

} // namespace memtrace::columns
