// Purpose: what remains of steps whose events were folded away: rows of a file that is mapped while the process
// runs.
#pragma once

#include "preload/format/file_headers.h"

namespace memtrace::format {

inline constexpr char kRollupMagic[8] = {'M', 'T', 'C', 'O', 'A', 'R', '\x02', '\n'};

// STEM.coarse: one RollupHeader, padded to a page, then two halves of half_bytes. One of them holds: rows are
// merged into the other one, and then `active` turns. A half is a RollupHalf, then phase_capacity PhaseRows,
// then site_capacity SiteRows. Both are hash tables: rows in any place, empty where `steps` or `count` is 0.
struct RollupHeader {
  char magic[8];
  std::uint16_t version;
  std::uint16_t reserved0;
  std::uint32_t active; // 0 or 1
  std::uint64_t trace_id;
  std::uint64_t half_bytes;
  std::uint64_t coarsened; // records of windows that were dropped
  Stamp folded_from;       // when the first window began
  std::uint64_t own_bytes; // private memory of the recorder, rings and this file not counted; a running figure
  // The highest level of the host in windows that were dropped, as it was seen. Records that came late, and
  // flows that no record had brought yet, make it uncertain: the true one lies between the other two.
  std::int64_t highest;
  std::int64_t highest_at_least;
  std::int64_t highest_at_most;
};
static_assert(sizeof(RollupHeader) <= kPage);

// A bucket is what steps with the same step / width share; widths are powers of two and only ever double.
struct RollupHalf {
  std::uint64_t phase_width; // steps
  std::uint64_t site_width;
  std::uint64_t first_step; // that was folded; steps before are in the trace file
  std::uint64_t last_step;
  std::uint32_t phase_capacity;
  std::uint32_t site_capacity;
};

struct Extremes { // of one figure over the steps of a bucket
  std::int64_t max;
  std::int64_t min;
};

enum class Figure : std::uint8_t {
  live_entry, // the five of `live`, of `tensor`, of `reserved`: as in the report, bytes
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

inline constexpr std::uint64_t kNoStepBucket = ~std::uint64_t{0}; // of what was before any step

// One bucket, path and memory. `path` is a text: the names of nested phases, outermost first, joined by
// kPathJoint; 0: no phase (`other`).
inline constexpr char kPathJoint = '\x1f';
struct PhaseRow {
  std::uint64_t bucket; // step / phase_width
  std::uint64_t steps;  // that had this path
  std::uint32_t path;   // TextId
  std::uint8_t memory;
  std::uint8_t skipped; // a step that did not update was among them
  std::uint16_t reserved;
  Extremes figures[kFigures];
};
static_assert(sizeof(PhaseRow) == 24 + 16 * kFigures);

// Births of one bucket, path, site and kind.
struct SiteRow {
  std::uint64_t bucket; // step / site_width
  std::uint32_t path;   // TextId
  std::uint32_t stack;  // StackId
  std::uint8_t kind;    // Kind
  std::uint8_t memory;
  std::uint16_t flags; // kTensor, kSampled
  std::uint32_t reserved;
  std::uint64_t count;
  std::uint64_t sum; // bytes given (of a tensor: asked)
  std::uint64_t min; // of one block
  std::uint64_t max;
};
static_assert(sizeof(SiteRow) == 56);

} // namespace memtrace::format
