// Purpose: a ring file from a fuzz input, and a fuzz input from a ring file.
#include "rings_input.h"

#include "builder.h"
#include "preload/format/file_headers.h"

namespace memtrace::tests {
namespace {

using format::RingFileHeader;
using format::RingRecord;
using format::RingSlot;

constexpr std::uint8_t kRawHeader = 1; // the input has a header of its own
constexpr std::uint8_t kCut = 2;       // the file ends early
constexpr std::size_t kMostSlots = 3;
constexpr std::size_t kMostRecords = 16; // of a slot, in an input from a file
// The first chunk, two batches of slots, rings of 256 records, and a ring of 2,048 records.
constexpr std::uint32_t kChunks = 16;
constexpr std::uint32_t kBatches = 2;
constexpr std::uint32_t kIndexes = format::kFirstSlots + kBatches * format::kBatchSlots;
constexpr std::uint32_t kShortRings = 1 + kBatches;
constexpr std::uint32_t kLongRing = 8;

// What a reader takes from the header beside the slots.
struct Figures {
  format::LostBlocks lost_blocks;
  format::SmallTotals slotless;
  format::Stamp shut_since;
  std::uint64_t shut_why;
  std::uint64_t ended;
  std::uint64_t dropped;
};

RingFileHeader header_of(const Figures& figures, std::uint8_t slots) {
  RingFileHeader header{};
  std::memcpy(header.magic, format::kRingMagic, sizeof header.magic);
  header.version = format::kVersion;
  header.trace_id = Builder::kTraceId;
  header.chunk_bytes = format::kChunkBytes;
  header.slots = slots;
  for (std::uint32_t i = 0; i < kBatches; ++i) header.batch[i] = static_cast<std::uint16_t>(1 + i);
  header.lost_blocks = figures.lost_blocks;
  header.slotless = figures.slotless;
  header.shut_since = figures.shut_since;
  header.shut_why = figures.shut_why;
  header.ended = figures.ended;
  header.lost[0] = figures.dropped;
  return header;
}

std::size_t offset_of_slot(const RingFileHeader& header, std::uint32_t index) {
  if (index < format::kFirstSlots) return format::kPage + index * format::kSlotBytes;
  index -= format::kFirstSlots;
  const std::size_t batch = index / format::kBatchSlots % format::kMaxBatches;
  return header.batch[batch] * format::kChunkBytes + index % format::kBatchSlots * format::kSlotBytes;
}

std::size_t offset_of_record(std::size_t slot_at, const RingSlot& slot, std::uint64_t sequence) {
  const std::size_t ring =
      slot.ring == 0 ? slot_at + sizeof slot : format::chunk_of_ring(slot.ring) * format::kChunkBytes;
  return ring + sequence % format::records_of_ring(slot.ring) * sizeof(RingRecord);
}

// What does not fit is left out: a reader meets it as the end of the file.
template <class Shape>
void put(std::string& file, std::size_t at, const Shape& shape) {
  if (at + sizeof shape <= file.size()) std::memcpy(file.data() + at, &shape, sizeof shape);
}

template <class Shape>
std::optional<Shape> shape_at(std::string_view file, std::size_t at) {
  if (at + sizeof(Shape) > file.size()) return std::nullopt;
  return Bytes(reinterpret_cast<const std::uint8_t*>(file.data()) + at, sizeof(Shape)).next<Shape>();
}

void put_slot(Bytes& input, std::string& file, const RingFileHeader& header) {
  const std::size_t at = offset_of_slot(header, input.next<std::uint8_t>());
  const auto slot = input.next<RingSlot>();
  put(file, at, slot);
  const auto records = input.next<std::uint8_t>();
  for (std::uint64_t i = 0; i < records && !input.empty(); ++i) {
    auto record = input.next<RingRecord>();
    const std::uint64_t sequence = slot.tail + i;
    if (record.commit == 0) record.commit = static_cast<std::uint32_t>(sequence + 1);
    put(file, offset_of_record(at, slot, sequence), record);
  }
}

// The slot's part of an input. Its ring moves to where a file made of an input has one.
std::string slot_input(std::string_view file, std::size_t at, RingSlot slot, std::size_t number) {
  std::string records;
  std::uint8_t count = 0;
  for (; count < kMostRecords; ++count) {
    const std::uint64_t sequence = slot.tail + count;
    auto record = shape_at<RingRecord>(file, offset_of_record(at, slot, sequence));
    if (!record || record->commit != static_cast<std::uint32_t>(sequence + 1)) break;
    record->commit = 0;
    append(records, *record);
  }
  if (slot.ring != 0) {
    const bool is_long = format::records_of_ring(slot.ring) == format::kRingRecords;
    const auto chunk = is_long ? kLongRing : kShortRings + static_cast<std::uint32_t>(number);
    slot.ring = format::ring_at(chunk, slot.ring & 0xFF);
  }
  std::string out;
  append(out, slot);
  append(out, count);
  return out + records;
}

} // namespace

std::string rings_from_input(Bytes input) {
  const auto options = input.next<std::uint8_t>();
  const auto said = input.next<std::uint8_t>();
  const std::size_t there = input.next<std::uint8_t>() % (kMostSlots + 1);
  const auto cut = input.next<std::uint16_t>();
  const RingFileHeader header =
      (options & kRawHeader) != 0 ? input.next<RingFileHeader>() : header_of(input.next<Figures>(), said);
  std::string file(kChunks * format::kChunkBytes, '\0');
  put(file, 0, header);
  for (std::size_t i = 0; i < there; ++i) put_slot(input, file, header);
  if ((options & kCut) != 0) file.resize(file.size() - std::min<std::size_t>(file.size(), cut * 7u));
  return file;
}

std::optional<std::string> input_from_rings(std::string_view file) {
  const auto header = shape_at<RingFileHeader>(file, 0);
  if (!header || std::memcmp(header->magic, format::kRingMagic, sizeof header->magic) != 0) return std::nullopt;
  std::string slots;
  std::uint8_t there = 0, said = 0;
  for (std::uint32_t i = 0; i < std::min(header->slots, kIndexes) && there < kMostSlots; ++i) {
    const std::size_t at = offset_of_slot(*header, i);
    const auto slot = shape_at<RingSlot>(file, at);
    if (!slot || slot->tid == 0) continue;
    append(slots, static_cast<std::uint8_t>(i));
    slots += slot_input(file, at, *slot, there++);
    said = static_cast<std::uint8_t>(i + 1);
  }
  std::string out;
  append(out, std::uint8_t{0});
  append(out, said);
  append(out, there);
  append(out, std::uint16_t{0});
  append(out, Figures{header->lost_blocks, header->slotless, header->shut_since, header->shut_why,
                      header->ended, header->lost[0]});
  return out + slots;
}

} // namespace memtrace::tests
