// Purpose: reads the records of some types from the runs of one thread, on two processors.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "analyzer/decode/record_cursor.h"
#include "analyzer/trace/events_ahead.h"

namespace memtrace::trace {

// A segment with none of these types, as bits, tells nothing to the survey.
inline constexpr std::uint64_t kTold = [] {
  using enum format::EventType;
  std::uint64_t types = 0;
  for (const auto type : {text,
                          code,
                          module,
                          stack,
                          process,
                          job,
                          fork,
                          exec,
                          end,
                          parameters,
                          parameter_dtype,
                          device,
                          note,
                          step,
                          phase_begin,
                          open_phase,
                          coarse,
                          failure,
                          sample_process,
                          sample_cgroup,
                          sample_charge,
                          sample_limits,
                          sample_pressure,
                          sample_machine,
                          sample_address_space})
    types |= std::uint64_t{1} << static_cast<unsigned>(type);
  return types;
}();
// All types that the survey takes from a segment that it reads.
inline constexpr std::uint64_t kTaken =
    kTold | std::uint64_t{1} << static_cast<unsigned>(format::EventType::sample_share) |
    std::uint64_t{1} << static_cast<unsigned>(format::EventType::sample_node);

struct ToldCounts {
  std::uint64_t missing = 0; // by sequence numbers; not known with two threads
  format::Stamp last = 0;    // the highest stamp
};

struct ToldQuestion {
  std::uint64_t types = 0; // bit EventType
  std::function<void(const format::RingRecord&)> take;
  std::function<void(std::uint64_t records)> advance; // called after every few thousand records of all types
};

// Gives the records of these types, in the order of the runs.
//
// Where the coding of records restarts, the next ones can be read without those before. Two threads read such
// parts in turn, some ahead. The calling thread gives all records.
ToldCounts read_told(std::span<const Run> runs, const ToldQuestion& question, EventsAhead::Threads threads);

} // namespace memtrace::trace
