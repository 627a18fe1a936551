// Purpose: what the kernel says of this process, its cgroups and the machine, as segments of thread 0.
// Runs: on the background thread, and before there is one on the thread that begins to record.
#include "preload/samples/kernel_samples.h"

#include <sys/resource.h>

#include <cstring>
#include <initializer_list>

#include "preload/kernel/cgroup.h"
#include "preload/kernel/exact_rss.h"
#include "preload/kernel/proc_file.h"
#include "preload/kernel/statm.h"
#include "preload/os/paths.h"
#include "preload/os/threads.h"
#include "preload/ring/ring_file.h"
#include "preload/state/new_record.h"
#include "preload/trace/record_encoder.h"
#include "preload/trace/trace_windows.h"

namespace memtrace::record {

using format::EventType;
using format::kNotSaid;
using format::RingRecord;

namespace {

// Text ids that the background thread hands out: some for each group that the process was in.
constexpr std::uint32_t kOwnTexts = 0x80000000;
constexpr std::uint32_t kTextsOfGroup = 16;
static_assert(kMaxLevels <= kTextsOfGroup);

constinit std::uint32_t first_text = kOwnTexts; // of the present group
constinit bool looked = false;
constinit bool named[kMaxLevels] = {};
constinit bool fresh[kMaxLevels] = {}; // named by this sample
constinit std::uint64_t sequence = 0;
constinit std::uint32_t said_in = 0; // the window that has a segment of samples
constinit std::uint8_t payload[32 * 1024];
constinit format::Model model{};

struct Gathered {
  Encoder encoder;
  RingRecord process; // none: type 0
  Closeness closeness;
  std::uint16_t flags; // of samples that say so: near a limit
};

std::uint32_t text_of(unsigned level) {
  return first_text + level;
}

void look_for_group() {
  const bool other = find_group();
  if (looked && other) {
    first_text += kTextsOfGroup;
    for (bool& level : named) level = false;
  }
  looked = true;
}

void add_text(Gathered& gathered, std::uint32_t id, const char* text, std::size_t bytes) {
  do {
    const std::size_t here = bytes < format::kTextChunk ? bytes : format::kTextChunk;
    RingRecord record = record_of(EventType::text);
    record.flags = static_cast<std::uint16_t>(here | (bytes > here ? format::kTextMore : 0));
    record.word[0] = id;
    std::memcpy(&record.word[1], text, here);
    gathered.encoder.add(record);
    text += here;
    bytes -= here;
  } while (bytes != 0);
}

std::uint64_t known(std::uint64_t value) {
  return value == kNotSaid ? 0 : value;
}

// Where a limit is set, its use is in every sample.
void add_address_space(Gathered& gathered, const char* status, Depth depth) {
  RingRecord record = record_of(EventType::sample_address_space);
  record.word[0] = known(kib_after(status, "VmSize:"));
  record.word[1] = os::resource_limit(RLIMIT_AS);
  record.word[2] = known(kib_after(status, "VmData:"));
  record.word[3] = os::resource_limit(RLIMIT_DATA);
  record.word[4] = known(kib_after(status, "VmLck:"));
  record.word[5] = os::resource_limit(RLIMIT_MEMLOCK);
  const bool limited = record.word[1] != kNotSaid || record.word[3] != kNotSaid;
  if (depth == Depth::all || limited) gathered.encoder.add(record);
  gathered.closeness.to_limit(record.word[0], record.word[1]);
  gathered.closeness.to_limit(record.word[2], record.word[3]);
}

// What the counters left out when pages were counted last. VmHWM comes from the same counters.
void correct(RingRecord& record) {
  const Statm more = correction();
  if (more.resident == 0 && more.shared == 0) return;
  const auto add = [](std::uint64_t& word, std::uint64_t bytes) {
    word += bytes;
    if (static_cast<std::int64_t>(word) < 0) word = 0;
  };
  add(record.word[0], more.resident - more.shared);
  add(record.word[1], more.shared);
  const std::uint64_t resident = record.word[0] + record.word[1] + record.word[2];
  if (record.word[3] < resident) record.word[3] = resident;
}

void add_process(Gathered& gathered, Depth depth) {
  const char* const text = read_kernel_file("/proc/self/status");
  if (text == nullptr) return;
  RingRecord record = record_of(EventType::sample_process);
  record.flags = gathered.flags;
  static constexpr const char* keys[] = {"RssAnon:", "RssFile:", "RssShmem:", "VmHWM:", "VmSwap:", "VmPTE:"};
  for (std::size_t i = 0; i < 6; ++i) record.word[i] = known(kib_after(text, keys[i]));
  correct(record);
  gathered.encoder.add(record);
  gathered.process = record;
  add_address_space(gathered, text, depth);
}

// In the ring file, which a kill leaves.
void keep_group(const GroupPath& path, std::uint64_t kills) {
  format::RingFileHeader* const header = ring_header();
  if (header == nullptr) return;
  header->kills = kills;
  if (path.bytes >= sizeof header->group) return;
  std::memcpy(header->group, path.text, path.bytes);
  header->group[path.bytes] = '\0';
}
void keep_closeness(const Closeness& closeness) {
  format::RingFileHeader* const header = ring_header();
  if (header == nullptr) return;
  header->near = closeness.near;
  header->left = closeness.left;
  header->limit = closeness.limit;
}

void add_charge(Gathered& gathered, unsigned level) {
  Charge charge;
  if (!read_charge(level, &charge)) return;
  const GroupPath path = group_path(level);
  if (!named[level]) add_text(gathered, text_of(level), path.text, path.bytes);
  fresh[level] = !named[level];
  named[level] = true;
  RingRecord record = record_of(EventType::sample_cgroup);
  record.flags =
      static_cast<std::uint16_t>(level | gathered.flags | (group_is_version_two() ? format::kVersionTwo : 0));
  record.word[0] = text_of(level);
  record.word[1] = charge.charge;
  record.word[2] = charge.limit;
  record.word[3] = charge.anon;
  record.word[4] = charge.file;
  record.word[5] = charge.oom_kills;
  gathered.encoder.add(record);
  if (level == 0) keep_group(path, charge.oom_kills);
  record = record_of(EventType::sample_charge);
  record.flags = static_cast<std::uint16_t>(level);
  record.word[0] = charge.shmem;
  record.word[1] = charge.kernel;
  record.word[2] = charge.swap;
  record.word[3] = charge.hugetlb;
  record.word[4] = charge.page_tables;
  record.word[5] = charge.dirty;
  gathered.encoder.add(record);
  gathered.closeness.to_limit(charge.held(), charge.limit);
}

// `text` is null where the kernel has no PSI, or it is switched off.
void add_pressure(Gathered& gathered, unsigned level, const char* text) {
  if (text == nullptr) return;
  const char* const some = line_after(text, "some ");
  const char* const full = line_after(text, "full ");
  RingRecord record = record_of(EventType::sample_pressure);
  record.flags = static_cast<std::uint16_t>(level);
  std::uint64_t* word = record.word;
  for (const char* line : {some, full}) {
    if (line == nullptr) continue;
    const auto field = [&](const char* key) {
      const char* const at = std::strstr(line, key);
      return at == nullptr ? "" : at + std::strlen(key);
    };
    word[0] = format::halves(hundredths_at(field("avg10=")), hundredths_at(field("avg60=")));
    word[1] = known(number_at(field("total=")));
    word += 2;
  }
  gathered.encoder.add(record);
  if (level != format::kWholeMachine)
    gathered.closeness.under_pressure(format::low(record.word[2]));
  else
    gathered.closeness.machine_under_pressure(format::low(record.word[2]));
}

void add_limits(Gathered& gathered, unsigned level) {
  const GroupLimits limits = read_limits(level);
  RingRecord record = record_of(EventType::sample_limits);
  record.flags = static_cast<std::uint16_t>(level);
  record.word[0] = limits.high;
  record.word[1] = limits.swap;
  record.word[2] = limits.highest;
  record.word[3] = limits.met;
  record.word[4] = limits.kills_all;
  record.word[5] = limits.ooms;
  gathered.encoder.add(record);
  if (!group_is_version_two()) return;
  const GroupPath path = group_path(level);
  add_pressure(gathered, level, read_kernel_file(path.text, path.bytes, "memory.pressure"));
}

std::uint64_t sum_of(const char* meminfo, std::initializer_list<const char*> keys) {
  std::uint64_t sum = 0;
  for (const char* key : keys) sum += known(kib_after(meminfo, key));
  return sum;
}

std::uint32_t pages(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(bytes / format::kPage);
}

// What the machine's memory is used for.
void add_node(Gathered& gathered, const char* meminfo) {
  RingRecord record = record_of(EventType::sample_node);
  record.word[0] = sum_of(meminfo, {"MemFree:"});
  record.word[1] = sum_of(meminfo, {"AnonPages:"});
  record.word[2] = sum_of(meminfo, {"Buffers:", "Cached:", "SwapCached:"});
  record.word[3] =
      format::halves(pages(sum_of(meminfo, {"Shmem:"})), pages(sum_of(meminfo, {"Dirty:", "Writeback:"})));
  record.word[4] = sum_of(meminfo, {"Slab:", "KernelStack:", "Percpu:"});
  record.word[5] = format::halves(pages(sum_of(meminfo, {"PageTables:", "SecPageTables:"})),
                                  pages(sum_of(meminfo, {"Hugetlb:"})));
  gathered.encoder.add(record);
}

void add_machine(Gathered& gathered) {
  RingRecord record = record_of(EventType::sample_machine);
  for (std::uint64_t& word : record.word) word = kNotSaid;
  const char* const text = read_kernel_file("/proc/meminfo");
  if (text != nullptr) {
    static constexpr const char* keys[] = {"MemTotal:", "MemAvailable:", "SwapTotal:", "SwapFree:"};
    for (std::size_t i = 0; i < 4; ++i) record.word[i] = kib_after(text, keys[i]);
  }
  os::tmpfs_use("/dev/shm", &record.word[4], &record.word[5]);
  gathered.encoder.add(record);
  if (text != nullptr) add_node(gathered, text);
  gathered.closeness.to_machine(record.word[0], record.word[1]);
  add_pressure(gathered, format::kWholeMachine, read_kernel_file("/proc/pressure/memory"));
}

// The names of groups are definitions: the window they are in may go.
void note_names() {
  for (unsigned level = 0; level < group_levels(); ++level) {
    const GroupPath path = group_path(level);
    if (fresh[level]) note_late_text(format::TextId{text_of(level)}, path.text, path.bytes);
  }
  write_late();
}

// Where everything else that is recorded goes, and between two passes.
bool append(const Encoder& encoder, const RingRecord* process) {
  const Locked locked(pass_lock);
  if (!locked) return false;
  rotate_if_due();
  const std::uint32_t window = current_window();
  const bool opens = window != 0 && said_in != window;
  const format::SegmentHeader header = encoder.header(trace_file.trace_id, 0, format::Source::ring, sequence,
                                                      opens ? format::kAfterWindow : std::uint8_t{0});
  if (append_events(header, payload, false) != Appended::yes) return false;
  sequence += encoder.records();
  if (window != 0) note_names();
  said_in = window;
  if (process != nullptr) folded.apply(0, *process);
  return true;
}

} // namespace

Closeness sample_now(Depth depth, bool near) {
  if (!looked || depth == Depth::all) look_for_group();
  model.restart();
  for (bool& level : fresh) level = false;
  Gathered gathered{
      Encoder(payload, sizeof payload, model), {}, {}, near ? format::kNearLimit : std::uint16_t{0}};
  add_process(gathered, depth);
  const unsigned levels = depth == Depth::process ? 0 : group_levels();
  for (unsigned level = 0; level < levels; ++level) {
    add_charge(gathered, level);
    if (depth == Depth::all && named[level]) add_limits(gathered, level);
  }
  if (depth == Depth::all) add_machine(gathered);
  if (gathered.encoder.records() == 0 ||
      !append(gathered.encoder, gathered.process.type != 0 ? &gathered.process : nullptr))
    for (bool& level : named) level = false; // the names went with the segment
  if (depth != Depth::process) keep_closeness(gathered.closeness);
  return gathered.closeness;
}

bool append_samples(const RingRecord* records, std::size_t count) {
  model.restart();
  Encoder encoder(payload, sizeof payload, model);
  for (std::size_t i = 0; i < count; ++i) encoder.add(records[i]);
  return append(encoder, nullptr);
}

void forget_samples() {
  forget_exact_rss();
  sequence = 0;
  said_in = 0;
  looked = false;
  first_text = kOwnTexts;
  forget_group();
  for (bool& level : named) level = false;
}

} // namespace memtrace::record
