// Purpose: facts of the process from records that are not events: its identity, its end, its machine.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/decode/definitions.h"
#include "preload/format/file_headers.h"

namespace memtrace::trace {

struct ForkedFrom {
  std::uint32_t parent_pid = 0;
  std::uint64_t live = 0; // bytes inherited
  std::uint64_t tensor = 0;
};

// What an armed process held when its recording began.
struct HeldBefore {
  format::Stamp stamp = 0; // of that time
  std::uint64_t live = 0;  // bytes of the host, without `small`
  std::uint64_t small = 0; // bytes of small blocks, whose flows are in later records
  std::uint64_t tensor = 0;
  struct Device {
    std::uint64_t live = 0;
    std::uint64_t tensor = 0;
    std::uint64_t reserved = 0; // by PyTorch's allocator
  };
  std::map<std::uint32_t, Device> devices; // by number of the memory
};

struct Ended {
  format::EndHow how = format::EndHow::unknown;
  std::uint32_t code = 0;
};

struct Parameters {
  std::uint64_t count = 0;
  std::uint64_t trainable = 0;
  std::uint64_t bytes = 0;
  std::uint64_t tensors = 0;
};

struct Device {
  std::string name;
  std::uint8_t uuid[16] = {};
  std::uint64_t total = 0; // bytes
  std::string source;      // the recorder of its memory: "hooks" or "cupti"
};

inline constexpr std::uint32_t kNoRank = ~std::uint32_t{0};

// Host bytes that the recorder had counted, if the process ended while recording began.
struct Beginnings {
  std::uint64_t live = 0;
  std::uint64_t highest = 0;
  std::uint64_t small = 0; // bytes of small blocks that neither figure includes
};

// The facts of one process. If a fact is recorded twice, the later stamp counts.
struct Facts {
  bool has_process = false;
  std::uint32_t pid = 0;
  std::uint32_t ppid = 0;
  std::uint64_t start_unix_ns = 0;
  format::Stamp start_stamp = 0; // the stamp of that time; the report's clock begins here
  format::Stamp last_stamp = 0;
  std::string exe;
  std::string argv; // NUL between arguments
  std::string host;
  std::string working_directory;
  std::uint64_t exact_min = 0;
  std::uint32_t sample_bytes = 0;
  std::uint32_t page_bytes = 4096;

  std::string job;
  std::uint32_t attempt = 1;
  std::uint32_t rank = kNoRank;
  std::uint32_t local_rank = kNoRank;
  std::uint32_t world_size = 0; // 0: unknown
  std::string launcher;

  std::optional<ForkedFrom> fork;
  std::optional<HeldBefore> before; // set if the process was armed
  std::optional<Ended> end;
  bool survived_abort = false; // it called abort(), and that thread continued
  bool last_was_exec = false;  // an exec is the last record
  std::optional<Parameters> parameters;
  std::map<std::string, std::uint64_t> parameters_by_dtype;
  std::map<unsigned, Device> devices; // by memory, 1 is cuda:0
  std::vector<std::string> notes;     // each once, in the order of their last records
  std::uint64_t coarsened = 0;
  format::LostBlocks lost_blocks{};    // births and deaths that the recorder dropped
  std::optional<Beginnings> beginning; // set if the process ended while recording began
  // Of a process that was killed: upper bound of the bytes that threads without a slot counted, for births and
  // for deaths each.
  std::uint64_t uncounted_bound = 0;
  // Of a process that was killed: highest level of the host before recording began, as far as the recorder
  // knows.
  std::uint64_t highest_before = 0;
  format::Pauses pauses{}; // of threads of the program, by memtrace; all 0: none is recorded

  bool auto_phases = false;
  bool step_phases = false;
  bool step_records = false;
  bool data_phases = false;
  // Returns the facts that decide how steps are counted: see replay/phase_tracker.h.
  std::array<bool, 3> step_rules() const { return {auto_phases, step_phases, step_records}; }

  // Returns the value of the last note `key=value`. Returns nullopt if there is none.
  std::optional<std::string> note(const std::string& key) const;
};

// Collects the records of all threads, thread by thread. Resolves their texts at the end, because a text may be
// defined in a thread that comes later.
class Survey {
 public:
  void add(std::uint32_t thread, const format::RingRecord& record);
  // Takes the last stamp that a thread recorded.
  void seen(std::uint32_t thread, format::Stamp last);
  Facts finish(const Definitions& definitions, format::Stamp last_stamp) &&;

 private:
  struct LatestRecord { // the record of each type with the greatest stamp
    bool is = false;
    format::RingRecord record{};
    std::uint32_t thread = 0;
  };
  void keep(std::uint32_t thread, const format::RingRecord& record);
  void ended(Facts& facts) const;
  void add_device(const format::RingRecord& record);
  void add_dtype(const format::RingRecord& record);
  void process(Facts& facts, const Definitions& definitions) const;
  void job(Facts& facts, const Definitions& definitions) const;

  LatestRecord said_[format::kEventTypes];
  std::map<std::uint32_t, format::Stamp> last_; // last stamp of each thread
  std::map<format::TextId, std::uint64_t> dtypes_;
  std::map<unsigned, format::Payload> devices_;   // by memory
  std::map<format::TextId, std::uint64_t> notes_; // text -> number of its last record among all notes
  std::uint64_t noted_ = 0;
  std::set<format::TextId> phase_names_;
  std::uint64_t coarsened_ = 0;
  bool auto_phases_ = false;
};

} // namespace memtrace::trace
