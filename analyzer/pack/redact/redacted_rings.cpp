// Purpose: the records of a trace without private texts, in rings.
#include <algorithm>
#include <cstring>

#include "analyzer/pack/redact/empty_text.h"
#include "analyzer/pack/redact/redacted_records.h"

namespace memtrace::redact {
namespace {

using format::RingRecord;
using format::RingSlot;

// A ring file as it was read, and its copy without private bytes.
class RingCopy {
 public:
  explicit RingCopy(const std::string& from) : from_(from), to_(from.size(), '\0') {}

  std::string take(PrivateNames& names) && {
    format::RingFileHeader header{};
    if (!get(0, header) || std::memcmp(header.magic, format::kRingMagic, sizeof header.magic) != 0 ||
        header.chunk_bytes != format::kChunkBytes)
      return std::move(to_);
    const auto group_end = std::find(header.group, std::end(header.group), '\0');
    const std::string group = names.path(std::string(header.group, group_end));
    std::memset(header.group, 0, sizeof header.group);
    group.copy(header.group, sizeof header.group - 1);
    put(0, header);
    for (std::uint32_t i = 0; i < std::min(header.slots, format::kMaxSlots); ++i)
      copy_slot(offset_of_slot(header, i));
    return std::move(to_);
  }

 private:
  static std::uint64_t offset_of_slot(const format::RingFileHeader& header, std::uint32_t index) {
    if (index < format::kFirstSlots) return format::kPage + index * format::kSlotBytes;
    index -= format::kFirstSlots;
    return header.batch[index / format::kBatchSlots] * std::uint64_t{format::kChunkBytes} +
           index % format::kBatchSlots * format::kSlotBytes;
  }

  template <class T>
  bool get(std::uint64_t offset, T& out) const {
    if (offset > from_.size() || from_.size() - offset < sizeof out) return false;
    std::memcpy(&out, from_.data() + offset, sizeof out);
    return true;
  }
  template <class T>
  void put(std::uint64_t offset, const T& value) {
    std::memcpy(to_.data() + offset, &value, sizeof value);
  }

  // Copies the slot and the records that a reader takes: those from the tail on, up to the first that is not
  // committed.
  void copy_slot(std::uint64_t offset) {
    RingSlot slot{};
    if (!get(offset, slot)) return;
    put(offset, slot);
    const std::uint64_t records = format::records_of_ring(slot.ring);
    const std::uint64_t ring = slot.ring == 0
                                   ? offset + sizeof slot
                                   : format::chunk_of_ring(slot.ring) * std::uint64_t{format::kChunkBytes};
    if (slot.tid == 0 || records > format::kRingRecords) return;
    for (std::uint64_t i = 0; i < records; ++i) {
      const std::uint64_t sequence = slot.tail + i;
      const std::uint64_t at = ring + sequence % records * sizeof(RingRecord);
      RingRecord record{};
      if (!get(at, record) || record.commit != static_cast<std::uint32_t>(sequence + 1) ||
          record.type >= format::kEventTypes)
        return;
      empty_text(record);
      put(at, record);
    }
  }

  const std::string& from_;
  std::string to_;
};

} // namespace

std::string redacted_rings(const std::string& content, PrivateNames& names) {
  return RingCopy(content).take(names);
}

} // namespace memtrace::redact
