// Purpose: the kernel's figures of this process, its cgroups and the machine, as segments of thread 0.
// Runs: on the background thread; before it starts, on the thread that begins to record.
#include "preload/samples/kernel_samples.h"

#include <sys/resource.h>

#include <cstring>
#include <initializer_list>

#include "preload/format/sample_events.h"
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

using format::kNotSaid;
using format::RingRecord;

namespace {

// The background thread assigns these text ids: kTextsOfGroup for each group that the process was in.
constexpr std::uint32_t kOwnTexts = 0x80000000;
constexpr std::uint32_t kTextsOfGroup = 16;
static_assert(kMaxLevels <= kTextsOfGroup);

constinit std::uint32_t first_text = kOwnTexts; // of the present group
constinit bool looked = false;
constinit bool named[kMaxLevels] = {};
constinit bool fresh[kMaxLevels] = {};                          // named by this sample
constinit std::uint64_t group_faults = 0, process_asked_at = 0; // major faults of the own cgroup
constinit std::uint64_t sequence = 0;
constinit std::uint32_t said_in = 0; // the last stretch that has a segment of samples
constinit std::uint8_t payload[32 * 1024];
constinit format::Model model{};

struct Gathered {
  Encoder encoder;
  RingRecord process; // type 0: none
  Closeness closeness;
  std::uint16_t flags; // kNearLimit if a limit is near
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
  each_text_record(format::TextId{id}, text, bytes,
                   [&](const RingRecord& record) { gathered.encoder.add(record); });
}

std::uint64_t known(std::uint64_t value) {
  return value == kNotSaid ? 0 : value;
}

// If a limit is set, every sample has its use.
void add_address_space(Gathered& gathered, const char* status, Depth depth) {
  const format::SampleAddressSpaceEvent space = {
      .size = known(kib_after(status, "VmSize:")),
      .size_limit = os::resource_limit(RLIMIT_AS),
      .data = known(kib_after(status, "VmData:")),
      .data_limit = os::resource_limit(RLIMIT_DATA),
      .locked = known(kib_after(status, "VmLck:")),
      .locked_limit = os::resource_limit(RLIMIT_MEMLOCK),
  };
  const bool limited = space.size_limit != kNotSaid || space.data_limit != kNotSaid;
  if (depth == Depth::all || limited) gathered.encoder.add(record_of(space));
  gathered.closeness.to_limit(space.size, space.size_limit);
  gathered.closeness.to_limit(space.data, space.data_limit);
}

// Adds the bytes that the kernel's counters lacked when pages were last counted. VmHWM comes from these
// counters, too.
void correct(format::SampleProcessEvent& sample) {
  const Statm more = correction();
  if (more.resident == 0 && more.shared == 0) return;
  const auto add = [](std::uint64_t& part, std::uint64_t bytes) {
    part += bytes;
    if (static_cast<std::int64_t>(part) < 0) part = 0;
  };
  add(sample.anon, more.resident - more.shared);
  add(sample.file, more.shared);
  const std::uint64_t resident = sample.anon + sample.file + sample.shmem;
  if (sample.high_water < resident) sample.high_water = resident;
}

void add_process(Gathered& gathered, Depth depth) {
  const char* const text = read_kernel_file("/proc/self/status");
  if (text == nullptr) return;
  format::SampleProcessEvent sample = {
      .anon = known(kib_after(text, "RssAnon:")),
      .file = known(kib_after(text, "RssFile:")),
      .shmem = known(kib_after(text, "RssShmem:")),
      .high_water = known(kib_after(text, "VmHWM:")),
      .swap = known(kib_after(text, "VmSwap:")),
      .page_tables = known(kib_after(text, "VmPTE:")),
  };
  correct(sample);
  RingRecord record = record_of(sample);
  record.flags = gathered.flags;
  gathered.encoder.add(record);
  gathered.process = record;
  add_address_space(gathered, text, depth);
}

// Writes the group and its kills to the ring file, which survives a kill.
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

void add_waits(Gathered& gathered, std::uint16_t level, const Charge& counts) {
  RingRecord record = record_of(format::SampleWaitsEvent{
      .throttled = static_cast<std::uint32_t>(counts.throttled),
      .unused0 = 0,
      .refaulted_pages = counts.refaulted_pages,
      .swapped_in_pages = static_cast<std::uint32_t>(counts.swapped_in_pages),
      .unused1 = 0,
      .major_faults = counts.major_faults,
  });
  record.flags = level;
  gathered.encoder.add(record);
}

void add_charge(Gathered& gathered, unsigned level) {
  Charge charge;
  if (!read_charge(level, &charge)) return;
  const GroupPath path = group_path(level);
  if (!named[level]) add_text(gathered, text_of(level), path.text, path.bytes);
  fresh[level] = !named[level];
  named[level] = true;
  RingRecord record =
      record_of(format::SampleCgroupEvent{format::TextId{text_of(level)}, 0, charge.charge, charge.limit,
                                          charge.anon, charge.file, charge.oom_kills});
  record.flags =
      static_cast<std::uint16_t>(level | gathered.flags | (group_is_version_two() ? format::kVersionTwo : 0));
  gathered.encoder.add(record);
  if (level == 0) {
    group_faults = charge.major_faults;
    keep_group(path, charge.oom_kills);
  }
  record = record_of(format::SampleChargeEvent{charge.shmem, charge.kernel, charge.swap, charge.hugetlb,
                                               charge.page_tables, charge.dirty});
  record.flags = static_cast<std::uint16_t>(level);
  gathered.encoder.add(record);
  add_waits(gathered, static_cast<std::uint16_t>(level + format::kCountsOfLevel), charge);
  gathered.closeness.to_limit(charge.held(), charge.limit);
}

// The kernel adds up the faults of all threads: 4 to 55 ms for 16,000 threads. So it is asked only if the
// cgroup had more faults, because those of the process are among them.
void add_own_waits(Gathered& gathered, Depth depth) {
  if (depth != Depth::all && group_faults == process_asked_at) return;
  process_asked_at = group_faults;
  Charge own{};
  own.refaulted_pages = kNotSaid; // the kernel counts these for cgroups only
  own.major_faults = os::major_faults();
  add_waits(gathered, format::kCountsOfProcess, own);
}

// Returns the stall times of a line of a PSI file; all are 0 if `line` is nullptr.
format::SamplePressureEvent::Stall stall_in(const char* line) {
  if (line == nullptr) return {};
  const auto field = [&](const char* key) {
    const char* const at = std::strstr(line, key);
    return at == nullptr ? "" : at + std::strlen(key);
  };
  return {hundredths_at(field("avg10=")), hundredths_at(field("avg60=")), known(number_at(field("total=")))};
}

// `text` is nullptr if the kernel has no PSI, or if PSI is switched off.
void add_pressure(Gathered& gathered, unsigned level, const char* text) {
  if (text == nullptr) return;
  const format::SamplePressureEvent pressure = {stall_in(line_after(text, "some ")),
                                                stall_in(line_after(text, "full "))};
  RingRecord record = record_of(pressure);
  record.flags = static_cast<std::uint16_t>(level);
  gathered.encoder.add(record);
  if (level != format::kWholeMachine)
    gathered.closeness.under_pressure(pressure.full.avg10);
  else
    gathered.closeness.machine_under_pressure(pressure.full.avg10);
}

void add_limits(Gathered& gathered, unsigned level) {
  const GroupLimits limits = read_limits(level);
  RingRecord record = record_of(format::SampleLimitsEvent{limits.high, limits.swap, limits.highest, limits.met,
                                                          limits.kills_all, 0, limits.ooms});
  record.flags = static_cast<std::uint16_t>(level);
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

// Adds the uses of the machine's memory.
void add_node(Gathered& gathered, const char* meminfo) {
  gathered.encoder.add(record_of(format::SampleNodeEvent{
      .free = sum_of(meminfo, {"MemFree:"}),
      .anon = sum_of(meminfo, {"AnonPages:"}),
      .page_cache = sum_of(meminfo, {"Buffers:", "Cached:", "SwapCached:"}),
      .shmem_pages = pages(sum_of(meminfo, {"Shmem:"})),
      .unwritten_pages = pages(sum_of(meminfo, {"Dirty:", "Writeback:"})),
      .kernel = sum_of(meminfo, {"Slab:", "KernelStack:", "Percpu:"}),
      .page_table_pages = pages(sum_of(meminfo, {"PageTables:", "SecPageTables:"})),
      .hugetlb_pages = pages(sum_of(meminfo, {"Hugetlb:"})),
  }));
}

void add_machine(Gathered& gathered) {
  format::SampleMachineEvent machine = {kNotSaid, kNotSaid, kNotSaid, kNotSaid, kNotSaid, kNotSaid};
  const char* const text = read_kernel_file("/proc/meminfo");
  if (text != nullptr) {
    machine.total = kib_after(text, "MemTotal:");
    machine.available = kib_after(text, "MemAvailable:");
    machine.swap_total = kib_after(text, "SwapTotal:");
    machine.swap_free = kib_after(text, "SwapFree:");
  }
  os::tmpfs_use("/dev/shm", &machine.dev_shm_used, &machine.dev_shm_total);
  gathered.encoder.add(record_of(machine));
  if (text != nullptr) add_node(gathered, text);
  gathered.closeness.to_machine(machine.total, machine.available);
  add_pressure(gathered, format::kWholeMachine, read_kernel_file("/proc/pressure/memory"));
}

// Where the kernel has one node, its share is the charge. The file is not read again then.
void add_nodes(Gathered& gathered) {
  static constinit format::SampleNumaEvent numa{};
  static constinit NodeShare nodes[format::SampleNumaEvent::kMostNodes] = {};
  static constinit bool has_one = false;
  if (has_one) return;
  const unsigned count = read_nodes(nodes, format::SampleNumaEvent::kMostNodes);
  has_one = count == 1;
  for (unsigned node = 0; node < count && !has_one; ++node) {
    numa.anon = nodes[node].anon;
    numa.file = nodes[node].file;
    RingRecord record = record_of(numa);
    record.flags = static_cast<std::uint16_t>(format::SampleNumaEvent::kFirstLevel + node);
    gathered.encoder.add(record);
  }
}

// Notes the new names of groups as definitions, because a reader may not have the stretch that has them.
void note_names() {
  for (unsigned level = 0; level < group_levels(); ++level) {
    const GroupPath path = group_path(level);
    if (fresh[level]) note_late_text(format::TextId{text_of(level)}, path.text, path.bytes);
  }
  write_late();
}

// Appends the segment between two passes, to the file that the other records go to.
bool append(const Encoder& encoder, const RingRecord* process) {
  const Locked locked(pass_lock);
  if (!locked) return false;
  rotate_if_due();
  const std::uint32_t stretch = current_stretch();
  const bool opens = stretch != 0 && said_in != stretch;
  const format::SegmentHeader header = encoder.header(trace_file.trace_id, 0, format::Source::ring, sequence,
                                                      opens ? format::kAfterWindow : std::uint8_t{0});
  if (append_events(header, payload, false) != Appended::yes) return false;
  sequence += encoder.records();
  if (stretch != 0) note_names();
  said_in = stretch;
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
  if (depth != Depth::process) add_own_waits(gathered, depth);
  if (depth == Depth::all) {
    add_nodes(gathered);
    add_machine(gathered);
  }
  if (gathered.encoder.records() == 0 ||
      !append(gathered.encoder, gathered.process.type != 0 ? &gathered.process : nullptr))
    for (bool& level : named) level = false; // the names were lost with the segment
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
