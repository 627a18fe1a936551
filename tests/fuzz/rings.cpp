// Purpose: fuzz target: a ring file beside a trace.
//
// Input: what is in use of a ring file, see rings_input.h.
#include "analyzer/decode/ring_reader.h"
#include "builder.h"
#include "place.h"
#include "rings_input.h"
#include "trace_use.h"

using namespace memtrace;
using namespace memtrace::tests;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = in_place("t.memtrace");
  static const bool written = (put_file(path, plain_trace()), true);
  const std::string rings = in_place("t.rings");
  put_file(rings, rings_from_input(Bytes(data, size)));
  if (const auto read = trace::read_rings(rings, Builder::kTraceId).rings; written && read) {
    for (const trace::Leftover& slot : read->slots) {
      expect(slot.records.size() <= format::kRingRecords, "a slot has more records than a ring");
      for (const RingRecord& record : slot.records)
        expect(record.type < format::kEventTypes, "a record of no type");
    }
  }
  use_trace(path);
  return 0;
}
