// Purpose: writes a pickle of plain values: dicts, lists, texts and numbers.
#include "analyzer/export/torch/pickle_writer.h"

namespace memtrace::report {
namespace {

constexpr std::size_t kEnough = 1 << 16; // bytes that are written at once

// The codes of Python's pickletools.
namespace pickle_code {
constexpr char kProtocol = '\x80', kStop = '.', kMark = '(';
constexpr char kDict = '}', kSetItems = 'u', kList = ']', kAppends = 'e', kPair = '\x86';
constexpr char kText = 'X', kPut = 'r', kGet = 'j';
constexpr char kByte = 'K', kTwoBytes = 'M', kInt = 'J', kLong = '\x8a', kTrue = '\x88', kFalse = '\x89';
} // namespace pickle_code

} // namespace

PickleWriter::PickleWriter(const files::TakePart& take) : take_(take) {
  put(pickle_code::kProtocol);
  put(2);
}

void PickleWriter::finish() {
  put(pickle_code::kStop);
  flush();
}

void PickleWriter::flush() {
  take_(bytes_);
  bytes_.clear();
}

void PickleWriter::put_number(std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) put(static_cast<char>(value >> (8 * i) & 0xFF));
}

void PickleWriter::begin_dict() {
  put(pickle_code::kDict);
  put(pickle_code::kMark);
}

void PickleWriter::end_dict() {
  put(pickle_code::kSetItems);
  if (bytes_.size() >= kEnough) flush();
}

void PickleWriter::begin_list() {
  put(pickle_code::kList);
  put(pickle_code::kMark);
}

void PickleWriter::end_list() {
  put(pickle_code::kAppends);
}

void PickleWriter::text(std::string_view value) {
  const auto [at, fresh] = texts_.try_emplace(std::string(value), 0);
  if (!fresh) return again(at->second);
  put(pickle_code::kText);
  put_number(value.size(), 4);
  bytes_ += value;
  at->second = remember();
}

void PickleWriter::number(std::uint64_t value) {
  if (value < 1 << 8) {
    put(pickle_code::kByte);
    put_number(value, 1);
  } else if (value < 1 << 16) {
    put(pickle_code::kTwoBytes);
    put_number(value, 2);
  } else if (value < std::uint64_t{1} << 31) {
    put(pickle_code::kInt);
    put_number(value, 4);
  } else { // signed, little-endian
    const bool high = value >> 63 != 0;
    put(pickle_code::kLong);
    put(high ? 9 : 8);
    put_number(value, 8);
    if (high) put(0);
  }
}

void PickleWriter::boolean(bool value) {
  put(value ? pickle_code::kTrue : pickle_code::kFalse);
}

void PickleWriter::pair(std::uint64_t first, std::uint64_t second) {
  number(first);
  number(second);
  put(pickle_code::kPair);
}

std::uint32_t PickleWriter::remember() {
  put(pickle_code::kPut);
  put_number(remembered_, 4);
  return remembered_++;
}

void PickleWriter::again(std::uint32_t number) {
  put(pickle_code::kGet);
  put_number(number, 4);
}

} // namespace memtrace::report
