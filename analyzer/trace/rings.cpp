// Room: trace. Trusts no byte.
// Job: a ring file, maybe being written to right now -> what is not yet in a segment.
#include "trace/rings.h"

#include <algorithm>
#include <cstring>

#include "trace/fault.h"
#include "trace/segments.h"

namespace memtrace::trace {
namespace {

using format::RingRecord;
using format::RingSlot;

constexpr int kTries = 8; // for one slot, whose ring gets a new owner each time

// Records from `tail` on whose commit word holds.
void take_records(const std::vector<RingRecord>& ring, std::size_t bytes, const RingSlot& slot, Leftover& out) {
  out.thread = slot.thread;
  out.small = slot.small;
  out.first_sequence = slot.tail;
  for (std::uint64_t i = 0; i < format::kRingRecords; ++i) {
    const std::uint64_t sequence = slot.tail + i;
    const std::size_t index = sequence % format::kRingRecords;
    const RingRecord& record = ring[index];
    if ((index + 1) * sizeof(RingRecord) > bytes || record.commit != static_cast<std::uint32_t>(sequence + 1))
      break;
    if (record.type >= format::kEventTypes) break;
    out.records.push_back(record);
  }
}

// The tail is read again after the copy: a record below the new tail may have been overwritten under our hands,
// but then it is in a segment. A ring that got a new owner meanwhile is read again: what the old one recorded
// is in segments, and what the new one did would count as the old one's where their sequence numbers meet
// (tests/models/ring.pml).
bool read_slot(const File& file, std::uint64_t offset, Leftover& out, bool& cut) {
  std::vector<RingRecord> ring(format::kRingRecords);
  for (int tries = 0; tries < kTries; ++tries) {
    RingSlot slot{};
    if (file.read(offset, &slot, sizeof slot) != sizeof slot) {
      cut = true;
      return false;
    }
    if (slot.tid == 0) return false;
    const std::size_t bytes = ring.size() * sizeof(RingRecord);
    const std::size_t got = file.read(offset + format::kPage, ring.data(), bytes);
    cut = cut || got != bytes; // a record that is missing is not taken
    RingSlot after{};
    if (file.read(offset, &after, sizeof after) != sizeof after) after = slot;
    if (after.thread != slot.thread) continue;
    if (after.tail < slot.tail) after = slot; // damage: a tail never goes back
    take_records(ring, got, after, out);
    return true;
  }
  return false;
}

} // namespace

std::optional<Rings> read_rings(const std::string& path, std::uint64_t trace_id) try {
  const File file(path);
  Rings rings;
  if (file.read(0, &rings.header, sizeof rings.header) != sizeof rings.header) return std::nullopt;
  const format::RingFileHeader& header = rings.header;
  if (std::memcmp(header.magic, format::kRingMagic, sizeof header.magic) != 0) return std::nullopt;
  if (header.version != format::kVersion || header.trace_id != trace_id) return std::nullopt;
  if (header.slot_bytes != format::kSlotBytes) return std::nullopt;
  const std::uint64_t there = file.size() / format::kSlotBytes + 1;
  const std::uint64_t slots = std::min<std::uint64_t>({header.slots, format::kMaxSlots, there});
  rings.cut = slots < header.slots;
  for (std::uint64_t i = 0; i < slots; ++i) {
    Leftover leftover;
    if (read_slot(file, format::kPage + i * format::kSlotBytes, leftover, rings.cut)) {
      rings.slots.push_back(std::move(leftover));
    }
  }
  return rings;
} catch (const Fault&) {
  return std::nullopt; // no such file: the process ended in an orderly way
}

} // namespace memtrace::trace
