// Purpose: the columns of a block: each has the bytes of one field of one type of record.
#include "analyzer/columns/column_bytes.h"

#include <cstring>

namespace memtrace::columns {
namespace {

void put_number(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

// Removes a number from the start of `from`. Returns nullopt if there is none.
std::optional<std::uint64_t> take_number(std::string_view& from) {
  std::uint64_t value = 0;
  std::size_t used = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (used == from.size()) return std::nullopt;
    const auto byte = static_cast<std::uint8_t>(from[used++]);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte >= 0x80) continue;
    from.remove_prefix(used);
    if (shift == 63 && byte > 1) return std::nullopt;
    return value;
  }
  return std::nullopt;
}

} // namespace

void ColumnOutput::byte(std::size_t column, std::uint8_t& value) {
  columns_[column] += static_cast<char>(value);
}

void ColumnOutput::number(std::size_t column, std::uint64_t& value) {
  put_number(columns_[column], value);
}

void ColumnOutput::eight(std::size_t column, std::uint64_t& value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof bytes);
  columns_[column].append(bytes, sizeof bytes);
}

std::string ColumnOutput::take() {
  std::string directory, content;
  for (std::size_t i = 0; i < kColumns; ++i) {
    if (columns_[i].empty()) continue;
    put_number(directory, i + 1);
    put_number(directory, columns_[i].size());
    content += columns_[i];
    columns_[i].clear();
  }
  put_number(directory, 0);
  return directory + content;
}

ColumnInput::ColumnInput(std::string_view block) : failed_(!divide(block)) {}

bool ColumnInput::divide(std::string_view block) {
  std::array<std::uint64_t, kColumns> bytes{};
  for (std::uint64_t last = 0;;) {
    const auto column = take_number(block);
    if (!column || (*column != 0 && *column <= last) || *column > kColumns) return false;
    if (*column == 0) break;
    const auto size = take_number(block);
    if (!size) return false;
    bytes[*column - 1] = *size;
    last = *column;
  }
  for (std::size_t i = 0; i < kColumns; ++i) {
    if (bytes[i] > block.size()) return false;
    columns_[i] = block.substr(0, bytes[i]);
    block.remove_prefix(bytes[i]);
  }
  return block.empty();
}

void ColumnInput::byte(std::size_t column, std::uint8_t& value) {
  std::string_view& from = columns_[column];
  value = 0;
  if (from.empty()) return fail();
  value = static_cast<std::uint8_t>(from.front());
  from.remove_prefix(1);
}

void ColumnInput::number(std::size_t column, std::uint64_t& value) {
  const std::optional<std::uint64_t> number = take_number(columns_[column]);
  value = number.value_or(0);
  if (!number) fail();
}

void ColumnInput::eight(std::size_t column, std::uint64_t& value) {
  std::string_view& from = columns_[column];
  value = 0;
  if (from.size() < sizeof value) return fail();
  std::memcpy(&value, from.data(), sizeof value);
  from.remove_prefix(sizeof value);
}

std::string_view ColumnInput::text(std::size_t column, std::uint64_t bytes) {
  std::string_view& from = columns_[column];
  if (from.size() < bytes) {
    fail();
    return {};
  }
  const std::string_view out = from.substr(0, bytes);
  from.remove_prefix(bytes);
  return out;
}

} // namespace memtrace::columns
