// Purpose: writes records to the trace file, then to windows, which are reused; the rollup gets them too. Large
// files get keyframes.
// Runs: in the drain and, when its ring is full, on the program's thread; the pass lock is held.
#include "preload/trace/trace_windows.h"

#include <sys/mman.h>

#include <initializer_list>
#include <new>

#include "preload/bounded/fork_locks.h"
#include "preload/format/window_events.h"
#include "preload/os/clocks.h"
#include "preload/os/files.h"
#include "preload/os/mappings.h"
#include "preload/os/paths.h"
#include "preload/os/timestamp.h"
#include "preload/state/loss_counters.h"
#include "preload/state/new_record.h"
#include "preload/trace/coding_models.h"
#include "preload/trace/record_encoder.h"
#include "preload/trace/table_memory.h"
#include "preload/trace/write_allowance.h"

namespace memtrace::record {

using format::EventType;
using format::RingRecord;

constinit SpinLock pass_lock;
REGISTER_LOCK(pass_lock, nullptr);
constinit rollup::Rollup folded{};

namespace {

constexpr std::size_t kBufferBytes = 32 * 1024;
constexpr std::uint64_t kMostReserve = 1 << 20;
// Bytes of a file for each block that a snapshot lists. A block takes less.
constexpr std::uint64_t kHeldBytes = 48;
constexpr std::uint64_t kRetryNs = 1'000'000'000; // after a disk error

struct OpenWindow {
  std::uint64_t number = 0; // 0: the file is empty
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
};

struct Current {
  std::uint32_t file = 0;
  std::uint64_t number = 0; // of the last window that began; 0: the trace file
  std::uint64_t not_before = 0;
  std::uint32_t stretch = 0;  // stretches that began
  std::uint64_t began_at = 0; // bytes of the file when the stretch began
  // The highest levels so far, and the numbers of the windows that have them.
  std::int64_t highest[2] = {};
  std::uint64_t highest_in[2] = {};
};

constinit OpenWindow windows[format::kWindowFiles] = {};
constinit Current current{};

// There are two coders, each with a buffer: a snapshot may need a definition that is written before it.
struct Coder {
  std::uint8_t* bytes = nullptr;
  alignas(Encoder) unsigned char room[sizeof(Encoder)] = {};
  bool begun = false;
  format::Model model{};

  Encoder* encoder() {
    if (bytes == nullptr) bytes = static_cast<std::uint8_t*>(os::map_private(kBufferBytes));
    if (bytes == nullptr) return nullptr;
    if (!begun) {
      model.restart();
      new (room) Encoder(bytes, kBufferBytes, model);
    }
    begun = true;
    return reinterpret_cast<Encoder*>(room);
  }
};
constinit Coder late{};
constinit Coder first{};
constinit std::uint64_t first_sequence = 0; // of the snapshot being written
constinit format::Source first_source = format::Source::snapshot;
constinit bool first_failed = false;
constinit Part late_part = Part::definitions;

constinit Path path{}; // pass lock held

const Path& path_of(std::uint32_t file) {
  path_beside_trace(&path, ".window-", file);
  return path;
}

void define(format::TextId id, const char* text, std::size_t bytes) {
  note_late_text(id, text, bytes);
  write_late();
}

// --- a window begins ---

bool make_rollup_file() {
  if (folded.attached()) return true;
  path_beside_trace(&path, ".coarse");
  const std::uint64_t bytes = trace_file.shares.rollup;
  os::unlink(path.text());
  const long fd = os::create(path.text());
  if (fd < 0) return false;
  void* memory = os::allocate(fd, 0, bytes) >= 0 ? os::map_shared(fd, 0, bytes) : nullptr;
  os::close(fd);
  if (memory == nullptr) {
    os::unlink(path.text());
    return false;
  }
  os::advise(memory, bytes, MADV_DONTFORK);
  folded.attach(memory, bytes, trace_file.trace_id, draw_stamp());
  return true;
}

// Returns the file of the next window: an empty file, else the oldest one. Never returns the file of the last
// window, nor of a window with a highest level.
std::uint32_t choose() {
  std::uint32_t best = format::kWindowFiles;
  for (std::uint32_t i = 0; i < format::kWindowFiles; ++i) {
    const std::uint64_t number = windows[i].number;
    if (number == 0) return i;
    if (number == current.number || number == current.highest_in[0] || number == current.highest_in[1])
      continue;
    if (best == format::kWindowFiles || number < windows[best].number) best = i;
  }
  return best;
}

void see_highest() {
  for (const auto measure : {rollup::live, rollup::tensor}) {
    const std::int64_t highest = folded.highest()[0][measure];
    if (highest <= current.highest[measure]) continue;
    current.highest[measure] = highest;
    current.highest_in[measure] = current.number;
  }
}

std::uint64_t bytes_now() {
  return current.number == 0 ? __atomic_load_n(&trace_file.bytes, __ATOMIC_RELAXED)
                             : windows[current.file].bytes;
}

// Returns false if the segment is not whole. A torn segment takes its room too.
bool append_to_window(const format::SegmentHeader& header, const std::uint8_t* payload) {
  const long written = append_segment(path_of(current.file).text(), header, payload);
  if (written > 0) windows[current.file].bytes += static_cast<std::uint64_t>(written);
  return written == static_cast<long>(sizeof header + header.payload_bytes);
}

bool append_first(const format::SegmentHeader& header) {
  if (current.number == 0) return append_to_trace(header, first.bytes, Part::events) == Appended::yes;
  if (windows[current.file].bytes + sizeof header + header.payload_bytes > trace_file.shares.window)
    return false;
  return append_to_window(header, first.bytes);
}

void flush_first(std::uint8_t flags = 0) {
  if (!first.begun) return;
  Encoder& encoder = *first.encoder();
  const format::SegmentHeader header =
      encoder.header(trace_file.trace_id, 0, first_source, first_sequence, flags);
  first_sequence += encoder.records();
  first.begun = false;
  if (!append_first(header)) first_failed = true;
}

void put_first(void*, const RingRecord& record) {
  Encoder* encoder = first.encoder();
  if (encoder == nullptr) {
    first_failed = true;
  } else if (!encoder->add(record)) {
    flush_first();
    first.encoder()->add(record);
  }
}

// Writes the present state to the current file. Returns false if it is not whole there.
bool write_state(format::Source source, std::uint64_t most_held) {
  first_source = source;
  first_sequence = 0;
  first_failed = false;
  first.begun = false;
  const std::uint64_t number = source == format::Source::keyframe ? current.stretch : current.number;
  folded.snapshot(static_cast<std::uint32_t>(number), draw_stamp(), most_held, &put_first, nullptr);
  flush_first(first_failed ? std::uint8_t{0} : format::kWhole);
  current.began_at = bytes_now();
  return !first_failed;
}

// Writes the highest levels of the stretch at its end.
void end_stretch() {
  first_source = format::Source::keyframe;
  first_sequence = 0;
  first.begun = false;
  for (unsigned memory = 0; memory < folded.ledger().seen(); ++memory) {
    const std::int64_t* const highest = folded.highest()[memory];
    RingRecord record{};
    record.put(
        format::LevelEvent{highest[rollup::live], highest[rollup::tensor], highest[rollup::reserved], 0});
    record.stamp = draw_stamp();
    record.flags = static_cast<std::uint16_t>(memory << format::kMemoryShift);
    put_first(nullptr, record);
  }
  first_failed = false;
  flush_first();
  see_highest();
  if (!first_failed) folded.forget_highest();
}

// If the disk fails, the next try comes a stretch later: a quick reader then reads both.
void begin_stretch() {
  if (make_rollup_file()) {
    end_stretch();
    ++current.stretch;
    write_state(format::Source::keyframe, trace_file.shares.stretch / 16 / kHeldBytes);
  }
  current.began_at = bytes_now();
}

bool begin_window(std::uint32_t file) {
  folded.header().coarsened += windows[file].records;
  folded.level_error().window_dropped(file, folded.header());
  windows[file] = {};
  os::unlink(path_of(file).text());
  const long fd = os::create(path_of(file).text());
  if (fd < 0) return false;
  os::close(fd);
  const Current before = current;
  current.file = file;
  ++current.number;
  ++current.stretch;
  if (!write_state(format::Source::snapshot, trace_file.shares.window / 4 / kHeldBytes)) {
    os::unlink(path_of(file).text());
    windows[file] = {};
    current = before;
    return false;
  }
  windows[file].number = current.number;
  folded.level_error().window_begins(file);
  return true;
}

bool is_nearly_full() {
  const std::uint64_t size = current.number == 0 ? trace_file.shares.head : trace_file.shares.window;
  const std::uint64_t reserve = size / 4 < kMostReserve ? size / 4 : kMostReserve;
  return bytes_now() + reserve > size;
}

} // namespace

void start_windows(bool forked, std::int64_t live, std::int64_t tensor, CopyText copy_text, HasRing has_ring) {
  const rollup::Host host = {&map_table, &extend_table, copy_text, &define, has_ring};
  folded.start(host, forked, live, tensor);
}

void forget_windows() {
  folded.forget();
  current = {};
  for (OpenWindow& window : windows) window = {};
  late.begun = first.begun = false;
}

std::uint32_t current_window() {
  return static_cast<std::uint32_t>(current.number);
}

std::uint32_t current_stretch() {
  return current.stretch;
}

bool rotate_if_due() {
  if (trace_file.shares.window == 0) return true;
  if (!is_nearly_full() || raise_bound()) {
    if (bytes_now() - current.began_at >= trace_file.shares.stretch) begin_stretch();
    return true;
  }
  const std::uint64_t now = os::monotonic_ns();
  if (now < current.not_before) return false;
  end_stretch();
  const std::uint32_t file = choose();
  if (make_rollup_file() && begin_window(file)) return true;
  current.not_before = now + kRetryNs;
  return false;
}

std::uint64_t events_room(bool last) {
  if (current.number == 0) return trace_room(last && trace_file.shares.window == 0 ? Part::last : Part::events);
  const std::uint64_t bytes = windows[current.file].bytes;
  return bytes < trace_file.shares.window ? trace_file.shares.window - bytes : 0;
}

Appended append_events(const format::SegmentHeader& header, const std::uint8_t* payload, bool last) {
  if (current.number == 0)
    return append_to_trace(header, payload, last && trace_file.shares.window == 0 ? Part::last : Part::events);
  const std::uint64_t bytes = sizeof header + header.payload_bytes;
  OpenWindow& window = windows[current.file];
  if (window.bytes + bytes > trace_file.shares.window) return Appended::no_room;
  if (!append_to_window(header, payload)) return Appended::failed;
  window.records += header.records;
  return Appended::yes;
}

bool is_late_fact(std::uint8_t type) {
  switch (static_cast<EventType>(type)) {
    case EventType::text:
    case EventType::code:
    case EventType::module:
    case EventType::stack:
    case EventType::process:
    case EventType::job:
    case EventType::device:
    case EventType::parameters:
    case EventType::parameter_dtype:
    case EventType::note:
    case EventType::end:
    case EventType::exec:
      return current.stretch != 0;
    case EventType::label: // there is one for each block: they get at most half of the room
      // A keyframe has the labels of its blocks, and a window that has theirs may be dropped.
      return current.number != 0 && trace_room(Part::definitions) > trace_file.shares.definitions / 2;
    default:
      return false;
  }
}

void note_late(const RingRecord& record) {
  const auto type = static_cast<EventType>(record.type);
  if (type == EventType::end || type == EventType::exec || type == EventType::note) late_part = Part::last;
  Encoder* encoder = late.encoder();
  if (encoder == nullptr) {
    lost(format::Loss::memory);
  } else if (!encoder->add(record)) {
    write_late();
    late.encoder()->add(record);
  }
}

void note_late_text(format::TextId id, const char* text, std::size_t bytes) {
  each_text_record(id, text, bytes, note_late);
}

void write_late() {
  if (!late.begun) return;
  Encoder& encoder = *late.encoder();
  const format::SegmentHeader header =
      encoder.header(trace_file.trace_id, 0, format::Source::definitions, trace_file.definitions);
  late.begun = false;
  const Appended appended = append_to_trace(header, late.bytes, late_part);
  if (appended == Appended::yes) {
    trace_file.definitions += header.records;
  } else {
    lost(appended == Appended::failed ? format::Loss::disk : format::Loss::bound, header.records);
  }
  late_part = Part::definitions;
}

std::uint64_t window_buffer_bytes() {
  return 2 * kBufferBytes;
}

void close_windows() {
  const Locked locked(pass_lock);
  if (!locked || !folded.started()) return;
  folded.close();
}

} // namespace memtrace::record
