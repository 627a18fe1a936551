// Purpose: reads from a ring file, which may be written to right now, the records that are not yet in a
// segment.
#include "analyzer/decode/ring_reader.h"

#include <algorithm>
#include <cstring>

#include "analyzer/decode/read_error.h"
#include "analyzer/decode/segment_file.h"

namespace memtrace::trace {
namespace {

using format::RingRecord;
using format::RingSlot;

constexpr int kSlotTries = 8; // for one slot, which may get a longer ring or a new owner while it is read

std::uint64_t offset_of_slot(const format::RingFileHeader& header, std::uint32_t index) {
  if (index < format::kFirstSlots) return format::kPage + index * format::kSlotBytes;
  index -= format::kFirstSlots;
  return header.batch[index / format::kBatchSlots] * std::uint64_t{format::kChunkBytes} +
         index % format::kBatchSlots * format::kSlotBytes;
}

bool is_ring(std::uint32_t ring) {
  const std::uint32_t records = format::records_of_ring(ring);
  return ring == 0 ||
         ((ring & 0xFF) < 32 && records >= format::kSlotRecords && records <= format::kRingRecords);
}

std::uint64_t offset_of_ring(std::uint64_t slot, std::uint32_t ring) {
  return ring == 0 ? slot + sizeof(RingSlot) : format::chunk_of_ring(ring) * std::uint64_t{format::kChunkBytes};
}

// Takes the records from `tail` on whose commit word is right. `bytes`: the bytes of the ring that were read.
void take_records(const std::vector<RingRecord>& ring, std::size_t bytes, const RingSlot& slot, Leftover& out) {
  out.thread = slot.thread;
  out.small = slot.small;
  out.first_sequence = slot.tail;
  for (std::uint64_t i = 0; i < ring.size(); ++i) {
    const std::uint64_t sequence = slot.tail + i;
    const std::size_t index = sequence % ring.size();
    const RingRecord& record = ring[index];
    if ((index + 1) * sizeof(RingRecord) > bytes || record.commit != static_cast<std::uint32_t>(sequence + 1))
      break;
    if (record.type >= format::kEventTypes) break;
    out.records.push_back(record);
  }
}

// A slot and the records that follow it.
struct SlotInFile {
  RingSlot slot;
  RingRecord own[format::kSlotRecords];
};
static_assert(sizeof(SlotInFile) == format::kSlotBytes);

// True if the slot's thread had one ring at both reads of the slot. A thread that loses its long ring writes
// its next records into the slot before it gets another ring. The new ring may have the old chunks, and another
// thread may have had them meanwhile.
bool kept_its_ring(const SlotInFile& before, const SlotInFile& after) {
  if (after.slot.ring != before.slot.ring || after.slot.thread != before.slot.thread ||
      after.slot.tid != before.slot.tid)
    return false;
  return before.slot.ring == 0 || std::memcmp(before.own, after.own, sizeof before.own) == 0;
}

// Reads a slot, its ring, and the slot again. A record below the new tail may have been overwritten meanwhile,
// but then it is in a segment. If the slot has another ring or another owner by then, both are read again.
// Returns false if the slot is free or cannot be read. `budget`: bytes of rings that may still be read. Without
// it, slots that share a ring would be read many times.
bool read_slot(const File& file, std::uint64_t offset, std::uint64_t& budget, Leftover& out,
               std::uint64_t& missing) {
  for (int tries = 0; tries < kSlotTries; ++tries) {
    SlotInFile place{}, after{};
    const RingSlot& slot = place.slot;
    if (file.read(offset, &place, sizeof place) < sizeof slot || !is_ring(slot.ring)) {
      missing += sizeof place;
      return false;
    }
    if (slot.tid == 0) return false;
    std::vector<RingRecord> ring(format::records_of_ring(slot.ring));
    const std::size_t bytes = ring.size() * sizeof(RingRecord);
    if (bytes > budget) {
      missing += bytes;
      return false;
    }
    const std::size_t got = file.read(offset_of_ring(offset, slot.ring), ring.data(), bytes);
    if (file.read(offset, &after, sizeof after) < sizeof slot) after = place;
    if (!kept_its_ring(place, after)) continue;
    budget -= bytes;
    missing += bytes - got; // these stay zero, and a commit word is zero only after it wraps
    take_records(ring, got, after.slot.tail >= slot.tail ? after.slot : slot, out);
    return true;
  }
  missing += sizeof(SlotInFile); // another ring each time: its records may be of another thread
  return false;
}

// Reads the header. Returns false if the file is not one of `trace_id` that this memtrace knows. `newer`: see
// RingFile.
bool read_header(const File& file, std::uint64_t trace_id, format::RingFileHeader& header,
                 std::uint16_t& newer) {
  if (file.read(0, &header, sizeof header) != sizeof header) return false;
  if (std::memcmp(header.magic, format::kRingMagic, format::kFamily) != 0) return false;
  if (header.trace_id != trace_id) return false;
  if (header.version > format::kVersion) newer = header.version;
  return format::is_known(header.version) &&
         std::memcmp(header.magic, format::kRingMagic, sizeof header.magic) == 0 &&
         header.chunk_bytes == format::kChunkBytes;
}

} // namespace

std::optional<format::RingFileHeader> read_ring_header(const std::string& path, std::uint64_t trace_id) try {
  const File file(path, files::Origin::found);
  format::RingFileHeader header{};
  std::uint16_t newer = 0;
  return read_header(file, trace_id, header, newer) ? std::optional(header) : std::nullopt;
} catch (const ReadError&) {
  return std::nullopt;
}

RingFile read_rings(const std::string& path, std::uint64_t trace_id) try {
  const File file(path, files::Origin::found);
  RingFile out;
  Rings rings;
  const format::RingFileHeader& header = rings.header;
  if (!read_header(file, trace_id, rings.header, out.newer)) return out;
  const std::uint32_t slots = std::min(header.slots, format::kMaxSlots);
  rings.missing = (header.slots - slots) * std::uint64_t{format::kSlotBytes};
  std::uint64_t budget = file.size() + format::kChunkBytes; // it may have grown since
  for (std::uint32_t i = 0; i < slots; ++i) {
    Leftover leftover;
    if (read_slot(file, offset_of_slot(header, i), budget, leftover, rings.missing)) {
      rings.slots.push_back(std::move(leftover));
    }
  }
  const format::SmallTotals& slotless = header.slotless;
  if ((slotless.births | slotless.deaths) != 0) // no thread has the index 0
    rings.slots.push_back({.thread = 0, .first_sequence = 0, .small = slotless, .records = {}});
  out.rings = std::move(rings);
  return out;
} catch (const ReadError&) {
  return {}; // no such file: the process ended in an orderly way
}

} // namespace memtrace::trace
