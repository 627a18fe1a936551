// Purpose: fuzz target: the rows of steps that were folded away.
//
// Input: options, a RollupHeader, a RollupHalf, rows. The file has the header's page and two halves.
#include <bit>

#include "preload/format/rollup_layout.h"

#include "analyzer/decode/rollup_reader.h"
#include "builder.h"
#include "bytes.h"
#include "place.h"
#include "trace_use.h"

using namespace memtrace;
using namespace memtrace::tests;

namespace {

constexpr std::uint8_t kRawHeader = 1; // the header stays as it is
constexpr std::uint8_t kCut = 2;       // the file ends early

std::string file_of(Bytes input) {
  const auto options = input.next<std::uint8_t>();
  const auto cut = input.next<std::uint8_t>();
  auto header = input.next<format::RollupHeader>();
  std::string half(input.rest());
  if ((options & kRawHeader) == 0) {
    std::memcpy(header.magic, format::kRollupMagic, sizeof header.magic);
    header.version = format::kVersion;
    header.trace_id = Builder::kTraceId;
    header.half_bytes = half.size();
  }
  std::string file;
  append(file, header);
  file.resize(format::kPage);
  if (header.active == 1) file.resize(format::kPage + half.size());
  file += half;
  if (header.active == 0) file.resize(file.size() + half.size());
  if ((options & kCut) != 0) file.resize(file.size() - std::min<std::size_t>(file.size(), cut * 9u));
  return file;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = in_place("t.memtrace");
  static const bool written = (put_file(path, plain_trace()), true);
  const std::string rows = in_place("t.coarse");
  put_file(rows, file_of(Bytes(data, size)));
  if (const trace::RollupFile read = trace::read_rollup(rows, Builder::kTraceId); written && read.rollup) {
    expect(
        std::has_single_bit(read.rollup->half.phase_width) && std::has_single_bit(read.rollup->half.site_width),
        "a width that is not a power of two");
    for (const format::SiteRow& row : read.rollup->sites) expect(row.kind < format::kKinds, "a row of no kind");
  }
  use_trace(path);
  return 0;
}
