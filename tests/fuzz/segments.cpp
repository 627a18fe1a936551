// Purpose: fuzz target: a trace file, from its segments to the fold.
#include "bytes.h"
#include "place.h"
#include "segment_edit.h"
#include "segment_mutate.h"
#include "trace_use.h"
#include "window_files.h"

using namespace memtrace::tests;

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  return mutate_segments(data, size, most, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = with_checksums({reinterpret_cast<const char*>(data), size});
  for (const Piece& piece : pieces_of(bytes)) {
    bool whole = false;
    const auto records = decoded(piece.bytes, whole);
    if (piece.whole && whole) expect_round_trip(records);
  }
  const std::string path = in_place("t.memtrace");
  put_file(path, bytes);
  put_file(in_place("t.coarse"), rollup_file({1, 1, 0, 0, 0, 0}, {}, {})); // without rows, nothing is left out
  use_trace(path);
  use_trace(path, memtrace::trace::ReadExtent::quick);
  return 0;
}
