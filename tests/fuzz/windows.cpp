// Purpose: fuzz target: the windows beside a trace file, and keyframes, from their snapshots to the fold.
//
// Input: the trace file, then up to four windows, each after kNext.
#include "bytes.h"
#include "place.h"
#include "segment_edit.h"
#include "segment_mutate.h"
#include "trace_use.h"
#include "window_files.h"
#include "windows_input.h"

using namespace memtrace;
using namespace memtrace::tests;

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  return mutate_segments(data, size, most, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  for (std::uint32_t i = 0; i <= format::kWindowFiles; ++i) {
    const std::size_t end = input.find(kNext);
    const std::string path = i == 0 ? in_place("t.memtrace") : in_place("t.window-" + std::to_string(i - 1));
    const bool there = i == 0 || !input.empty();
    if (there) put_file(path, with_checksums(input.substr(0, end)));
    if (!there) drop_file(path);
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + kNext.size());
  }
  put_file(in_place("t.coarse"), rollup_file({1, 1, 0, 0, 0, 0}, {}, {})); // without rows, nothing is left out
  use_trace(in_place("t.memtrace"));
  use_trace(in_place("t.memtrace"), trace::ReadExtent::quick);
  return 0;
}
