// Room: tests.
// Job: fuzz target: a ring file beside a trace.
//
// Input: options, slots that the header says, slots that follow; each a RingSlot, a count and that many
// records. A long ring is 128 KiB: only what is in use is in the input.
#include "trace/rings.h"
#include "builder.h"
#include "bytes.h"
#include "place.h"
#include "trace_use.h"

using namespace memtrace;
using namespace memtrace::tests;

namespace {

constexpr std::uint8_t kRawHeader = 1; // the input has a header of its own
constexpr std::uint8_t kCut = 2;       // the file ends early
constexpr std::size_t kMostSlots = 3;
constexpr std::size_t kChunks = 16; // of the file: the first ones, and a ring of 2,048 records

format::RingFileHeader header_of(Bytes& input, std::uint8_t options, std::uint8_t slots) {
  if ((options & kRawHeader) != 0) return input.next<format::RingFileHeader>();
  format::RingFileHeader header{};
  std::memcpy(header.magic, format::kRingMagic, sizeof header.magic);
  header.version = format::kVersion;
  header.trace_id = Builder::kTraceId;
  header.chunk_bytes = format::kChunkBytes;
  header.slots = slots;
  return header;
}

void put_slot(Bytes& input, std::string& file, std::size_t at) {
  const auto slot = input.next<format::RingSlot>();
  std::memcpy(file.data() + at, &slot, sizeof slot);
  const std::size_t ring =
      slot.ring == 0 ? at + sizeof slot : format::chunk_of_ring(slot.ring) * format::kChunkBytes;
  const auto records = input.next<std::uint8_t>();
  for (std::uint64_t i = 0; i < records && !input.empty(); ++i) {
    auto record = input.next<format::RingRecord>();
    const std::uint64_t sequence = slot.tail + i;
    if (record.commit == 0) record.commit = static_cast<std::uint32_t>(sequence + 1);
    const std::size_t place = ring + sequence % format::records_of_ring(slot.ring) * sizeof record;
    if (place + sizeof record <= file.size()) std::memcpy(file.data() + place, &record, sizeof record);
  }
}

std::string file_of(Bytes input) {
  const auto options = input.next<std::uint8_t>();
  const auto said = input.next<std::uint8_t>();
  const std::size_t there = input.next<std::uint8_t>() % (kMostSlots + 1);
  const auto cut = input.next<std::uint16_t>();
  std::string file(kChunks * format::kChunkBytes, '\0');
  const format::RingFileHeader header = header_of(input, options, said);
  std::memcpy(file.data(), &header, sizeof header);
  for (std::size_t i = 0; i < there; ++i) put_slot(input, file, format::kPage + i * format::kSlotBytes);
  if ((options & kCut) != 0) file.resize(file.size() - std::min<std::size_t>(file.size(), cut * 7u));
  return file;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = in_place("t.memtrace");
  static const bool written = (put_file(path, plain_trace()), true);
  const std::string rings = in_place("t.rings");
  put_file(rings, file_of(Bytes(data, size)));
  if (const auto read = trace::read_rings(rings, Builder::kTraceId); written && read) {
    for (const trace::Leftover& slot : read->slots) {
      expect(slot.records.size() <= format::kRingRecords, "a slot has more records than a ring");
      for (const RingRecord& record : slot.records)
        expect(record.type < format::kEventTypes, "a record of no type");
    }
  }
  use_trace(path);
  return 0;
}
