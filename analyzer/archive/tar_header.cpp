// Purpose: the header of a member of a tar file (POSIX ustar).
#include "analyzer/archive/tar_header.h"

#include <algorithm>
#include <cstring>

namespace memtrace::archive {
namespace {

struct Field {
  std::size_t at;
  std::size_t bytes;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kUser{108, 8}, kGroup{116, 8}, kSize{124, 12}, kTime{136, 12},
    kSum{148, 8}, kType{156, 1}, kMagic{257, 8}, kPrefix{345, 155};
constexpr char kUstar[] = {'u', 's', 't', 'a', 'r', '\0', '0', '0'};

// Writes octal digits and a NUL.
void put_number(std::string& block, Field field, std::uint64_t value) {
  for (std::size_t i = field.bytes - 1; i-- > 0; value >>= 3)
    block[field.at + i] = static_cast<char>('0' + (value & 7));
}

// Returns nullopt if a byte is not an octal digit. A NUL or a space ends the digits.
std::optional<std::uint64_t> number(std::string_view block, Field field) {
  std::uint64_t value = 0;
  for (const char c : block.substr(field.at, field.bytes)) {
    if (c == '\0' || c == ' ') return value;
    if (c < '0' || c > '7') return std::nullopt;
    value = value << 3 | static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

// Returns the sum of the bytes, with spaces in place of the sum.
std::uint64_t sum_of(std::string_view block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i) {
    const bool own = i >= kSum.at && i < kSum.at + kSum.bytes;
    sum += own ? std::uint64_t{' '} : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

std::string_view text(std::string_view block, Field field) {
  const std::string_view all = block.substr(field.at, field.bytes);
  return all.substr(0, all.find('\0'));
}

bool is_plain(std::string_view name) {
  const auto bad = [](char c) { return c == '/' || static_cast<unsigned char>(c) < ' '; };
  return !name.empty() && name.front() != '.' && std::none_of(name.begin(), name.end(), bad);
}

} // namespace

std::string tar_header(std::string_view name, std::uint64_t bytes) {
  std::string block(kTarBlock, '\0');
  name.copy(block.data() + kName.at, kName.bytes);
  put_number(block, kMode, 0644);
  put_number(block, kUser, 0);
  put_number(block, kGroup, 0);
  put_number(block, kSize, bytes);
  put_number(block, kTime, 0);
  block[kType.at] = '0';
  std::memcpy(block.data() + kMagic.at, kUstar, sizeof kUstar);
  put_number(block, {kSum.at, 7}, sum_of(block)); // six digits, NUL, space
  block[kSum.at + 7] = ' ';
  return block;
}

std::optional<TarMember> parse_tar_header(std::string_view block, std::string& expected) {
  expected = "expected the header of a file in a tar archive";
  if (block.size() != kTarBlock || std::memcmp(block.data() + kMagic.at, kUstar, 5) != 0) return std::nullopt;
  if (number(block, kSum) != sum_of(block)) {
    expected += ", but its sum is wrong";
    return std::nullopt;
  }
  const char type = block[kType.at];
  TarMember member{std::string(text(block, kName)), 0};
  if (type != '0' && type != '\0') {
    expected = "expected a regular file, but member \"" + member.name + "\" has the type '" + type + "'";
    return std::nullopt;
  }
  if (!is_plain(member.name) || !text(block, kPrefix).empty()) {
    expected = "expected a plain name of a file, but the member is named \"" + member.name + "\"";
    return std::nullopt;
  }
  const auto bytes = number(block, kSize);
  if (!bytes || *bytes > kLargestTarMember) {
    expected = "expected the size of member \"" + member.name + "\" in octal digits";
    return std::nullopt;
  }
  member.bytes = *bytes;
  return member;
}

} // namespace memtrace::archive
