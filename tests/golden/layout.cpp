// Purpose: the layout of the headers and rows of a trace, and the order of its names, as text.
#include "layout.h"

#include <cstddef>

#include "preload/format/record_coding.h"
#include "preload/format/rollup_layout.h"

namespace memtrace::tests {
namespace {

class Text {
 public:
  void add(const std::string& name, std::size_t value) { text_ += name + " " + std::to_string(value) + "\n"; }
  void add(const std::string& name, std::size_t offset, std::size_t bytes) {
    add(name + " " + std::to_string(offset), bytes);
  }
  template <std::size_t N>
  void names(const char* what, const char* const (&names)[N]) {
    for (std::size_t i = 0; i < N; ++i) add(std::string(what) + " " + names[i], i);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

#define STRUCT(type) text.add(#type, sizeof(format::type))
#define FIELD(type, field) \
  text.add(#type "." #field, offsetof(format::type, field), sizeof(format::type::field))
#define CONSTANT(name) text.add(#name, static_cast<std::size_t>(format::name))

void add_segments(Text& text) {
  STRUCT(RingRecord);
  FIELD(RingRecord, commit);
  FIELD(RingRecord, type);
  FIELD(RingRecord, kind);
  FIELD(RingRecord, flags);
  FIELD(RingRecord, stamp);
  FIELD(RingRecord, payload);
  STRUCT(SegmentHeader);
  FIELD(SegmentHeader, magic);
  FIELD(SegmentHeader, version);
  FIELD(SegmentHeader, source);
  FIELD(SegmentHeader, flags);
  FIELD(SegmentHeader, payload_bytes);
  FIELD(SegmentHeader, checksum);
  FIELD(SegmentHeader, thread);
  FIELD(SegmentHeader, records);
  FIELD(SegmentHeader, first_sequence);
  FIELD(SegmentHeader, first_stamp);
  FIELD(SegmentHeader, last_stamp);
  FIELD(SegmentHeader, types);
  FIELD(SegmentHeader, trace_id);
}

void add_rings(Text& text) {
  STRUCT(SmallTotals);
  FIELD(SmallTotals, allocated);
  FIELD(SmallTotals, freed);
  FIELD(SmallTotals, births);
  FIELD(SmallTotals, deaths);
  STRUCT(RingSlot);
  FIELD(RingSlot, thread);
  FIELD(RingSlot, tid);
  FIELD(RingSlot, head);
  FIELD(RingSlot, tail);
  FIELD(RingSlot, small);
  FIELD(RingSlot, ring);
  FIELD(RingSlot, writing);
  STRUCT(LostBlocks);
  FIELD(LostBlocks, births);
  FIELD(LostBlocks, birth_bytes);
  FIELD(LostBlocks, deaths);
  FIELD(LostBlocks, death_bytes);
  FIELD(LostBlocks, uncounted_birth_bytes);
  FIELD(LostBlocks, uncounted_death_bytes);
  FIELD(LostBlocks, tensor_birth_bytes);
  FIELD(LostBlocks, tensor_death_bytes);
  STRUCT(RingFileHeader);
  FIELD(RingFileHeader, magic);
  FIELD(RingFileHeader, version);
  FIELD(RingFileHeader, reserved0);
  FIELD(RingFileHeader, pid);
  FIELD(RingFileHeader, trace_id);
  FIELD(RingFileHeader, chunk_bytes);
  FIELD(RingFileHeader, slots);
  FIELD(RingFileHeader, lost);
  FIELD(RingFileHeader, live);
  FIELD(RingFileHeader, trace_bytes);
  FIELD(RingFileHeader, ended);
  FIELD(RingFileHeader, own_bytes);
  FIELD(RingFileHeader, near);
  FIELD(RingFileHeader, left);
  FIELD(RingFileHeader, limit);
  FIELD(RingFileHeader, kills);
  FIELD(RingFileHeader, group);
  FIELD(RingFileHeader, lost_blocks);
  FIELD(RingFileHeader, batch);
  FIELD(RingFileHeader, shut_since);
  FIELD(RingFileHeader, shut_why);
  FIELD(RingFileHeader, slotless);
  FIELD(RingFileHeader, beginning);
  FIELD(RingFileHeader, beginning_small);
  FIELD(RingFileHeader, uncounted_bound);
  FIELD(RingFileHeader, highest_before);
  FIELD(RingFileHeader, pauses);
}

void add_rows(Text& text) {
  STRUCT(RollupHeader);
  FIELD(RollupHeader, magic);
  FIELD(RollupHeader, version);
  FIELD(RollupHeader, reserved0);
  FIELD(RollupHeader, active);
  FIELD(RollupHeader, trace_id);
  FIELD(RollupHeader, half_bytes);
  FIELD(RollupHeader, coarsened);
  FIELD(RollupHeader, folded_from);
  FIELD(RollupHeader, own_bytes);
  FIELD(RollupHeader, highest);
  FIELD(RollupHeader, highest_at_least);
  FIELD(RollupHeader, highest_at_most);
  STRUCT(RollupHalf);
  FIELD(RollupHalf, phase_width);
  FIELD(RollupHalf, site_width);
  FIELD(RollupHalf, first_step);
  FIELD(RollupHalf, last_step);
  FIELD(RollupHalf, phase_capacity);
  FIELD(RollupHalf, site_capacity);
  STRUCT(PhaseRow);
  FIELD(PhaseRow, bucket);
  FIELD(PhaseRow, steps);
  FIELD(PhaseRow, path);
  FIELD(PhaseRow, memory);
  FIELD(PhaseRow, skipped);
  FIELD(PhaseRow, reserved);
  FIELD(PhaseRow, figures);
  STRUCT(SiteRow);
  FIELD(SiteRow, bucket);
  FIELD(SiteRow, path);
  FIELD(SiteRow, stack);
  FIELD(SiteRow, kind);
  FIELD(SiteRow, memory);
  FIELD(SiteRow, flags);
  FIELD(SiteRow, largest_in);
  FIELD(SiteRow, count);
  FIELD(SiteRow, sum);
  FIELD(SiteRow, min);
  FIELD(SiteRow, max);
}

void add_constants(Text& text) {
  CONSTANT(kMaxPayload);
  CONSTANT(kWindowFiles);
  CONSTANT(kPage);
  CONSTANT(kChunkBytes);
  CONSTANT(kSlotRecords);
  CONSTANT(kRingRecords);
  CONSTANT(kMaxBatches);
  CONSTANT(kSharedThread);
  CONSTANT(kFigures);
}

#undef STRUCT
#undef FIELD
#undef CONSTANT

void add_names(Text& text) {
  for (std::size_t i = 0; i < format::kEventTypes; ++i) {
    std::string words;
    for (std::size_t word = 0; word < format::kWords; ++word) words += format::layout_of(i, word, 0);
    text.add(std::string("event ") + format::kEventNames[i] + " " + words, i);
  }
  text.names("kind", format::kKindNames);
  text.names("loss", format::kLossNames);
  text.names("end", format::kEndNames);
  text.names("ledger_row", format::kLedgerRowNames);
}

} // namespace

std::string layout() {
  Text text;
  add_segments(text);
  add_rings(text);
  add_rows(text);
  add_constants(text);
  add_names(text);
  return text.text();
}

} // namespace memtrace::tests
