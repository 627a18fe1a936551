// Purpose: fuzz target: a file that becomes columns and comes out of them, and columns that no writer made.
#include <cstdint>
#include <string>

#include "analyzer/columns/file_columns.h"
#include "bytes.h"
#include "segment_edit.h"
#include "segment_mutate.h"

using namespace memtrace::tests;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  return seed % 2 == 0 ? mutate_segments(data, size, most, seed / 2) : LLVMFuzzerMutate(data, size, most);
}

namespace {

void expect_same(const std::string& file) {
  std::string out;
  bool valid = true;
  memtrace::columns::FromColumns from([&](std::string_view bytes) { out += bytes; });
  memtrace::columns::to_columns(file, [&](std::string_view piece) { valid = valid && from.add(piece); });
  expect(valid && from.at_end() && out == file, "a file that went through columns is another");
}

// The bytes as one block, whose size is right.
void read_block(const std::string& block) {
  memtrace::columns::FromColumns from([](std::string_view) {});
  std::string start;
  append(start, static_cast<std::uint32_t>(block.size()));
  append(start, std::uint32_t{0});
  from.add(start + block);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  expect_same(with_checksums(bytes));
  read_block(bytes);
  return 0;
}
