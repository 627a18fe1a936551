// Purpose: the rows that remain of steps whose events were dropped, in a file that is mapped while the process
// runs.
#pragma once

#include "preload/format/file_headers.h"

namespace memtrace::format {

inline constexpr char kRollupMagic[8] = {'M', 'T', 'C', 'O', 'A', 'R', '\x02', '\n'};

// STEM.coarse: one RollupHeader, padded to a page, then two halves of half_bytes. `active` names the valid
// half. The writer merges rows into the other half, and then switches `active`. A half is a RollupHalf, then
// phase_capacity PhaseRows, then site_capacity SiteRows. Both arrays are hash tables: a row can be at any
// place, and is empty if its `steps` or `count` is 0.
struct RollupHeader {
  char magic[8];
  std::uint16_t version;
  std::uint16_t reserved0;
  std::uint32_t active; // 0 or 1
  std::uint64_t trace_id;
  std::uint64_t half_bytes;
  std::uint64_t coarsened; // number of records in dropped windows
  Stamp folded_from;       // when the first window began
  std::uint64_t own_bytes; // private memory of the recorder without rings and this file; updated while it runs
  // The highest level of the host in dropped windows, as the recorder saw it. It is uncertain, because some
  // records came late, and no record had brought some flows yet. The true level lies between the other two.
  std::int64_t highest;
  std::int64_t highest_at_least;
  std::int64_t highest_at_most;
};
static_assert(sizeof(RollupHeader) <= kPage);

// Step s is in bucket s / width, so a bucket (step range) has `width` consecutive steps. Widths are powers of
// two and only ever double.
struct RollupHalf {
  std::uint64_t phase_width; // steps
  std::uint64_t site_width;
  std::uint64_t first_step; // first step in the rows; earlier steps are in the trace file
  std::uint64_t last_step;
  std::uint32_t phase_capacity;
  std::uint32_t site_capacity;
};

struct Extremes { // of one figure over the steps of a bucket
  std::int64_t max;
  std::int64_t min;
};

enum class Figure : std::uint8_t {
  live_entry, // five figures each of `live`, `tensor` and `reserved`, as in the report, in bytes
  live_exit,
  live_peak,
  live_transient,
  live_net,
  tensor_entry,
  tensor_exit,
  tensor_peak,
  tensor_transient,
  tensor_net,
  reserved_entry,
  reserved_exit,
  reserved_peak,
  reserved_transient,
  reserved_net,
  allocated, // flows of the step in this innermost phase
  freed,
  allocations,
  count, // occurrences
};
inline constexpr std::size_t kFigures = 19;
inline constexpr std::uint8_t kResident = 255; // `memory` of a row whose figures 0 to 8 are anon, file, shmem
                                               // at entry, at exit, at the peak of their sum

inline constexpr std::uint64_t kNoStepBucket = ~std::uint64_t{0}; // of events before the first step

// A row for one bucket, path and memory. `path` is a text: the names of nested phases, outermost first, joined
// by kPathJoint. 0: no phase (`other`).
inline constexpr char kPathJoint = '\x1f';
struct PhaseRow {
  std::uint64_t bucket; // step / phase_width
  std::uint64_t steps;  // number of steps that had this path
  std::uint32_t path;   // TextId
  std::uint8_t memory;
  std::uint8_t skipped; // not 0: one of these steps did not update
  std::uint16_t reserved;
  Extremes figures[kFigures];
};
static_assert(sizeof(PhaseRow) == 24 + 16 * kFigures);

// A row for the births of one bucket, path, site and kind.
struct SiteRow {
  std::uint64_t bucket; // step / site_width
  std::uint32_t path;   // TextId
  std::uint32_t stack;  // StackId
  std::uint8_t kind;    // Kind
  std::uint8_t memory;
  std::uint16_t flags;      // kTensor, kSampled
  std::uint32_t largest_in; // the step of the largest block, + 1, its low 32 bits; 0: not known
  std::uint64_t count;
  std::uint64_t sum; // bytes given (of a tensor: asked)
  std::uint64_t min; // of one block
  std::uint64_t max;
};
static_assert(sizeof(SiteRow) == 56);

} // namespace memtrace::format
