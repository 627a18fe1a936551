// Purpose: gives ids to texts, code, modules and stacks, and writes each to the trace once, before its first
// use.
// Runs: inside the program's malloc, but only for a new text, code object, module or frame.
#include "preload/record/interner.h"

#include <cstring>

#include "preload/bounded/fork_locks.h"
#include "preload/bounded/id_table.h"
#include "preload/os/mappings.h"
#include "preload/record/emit.h"
#include "preload/stack/loaded_modules.h"
#include "preload/state/loss_counters.h"
#include "preload/state/new_record.h"
#include "preload/trace/record_encoder.h"
#include "preload/trace/trace_file.h"

namespace memtrace::record {

using format::CodeId;
using format::halves;
using format::ModuleId;
using format::RingRecord;
using format::StackId;
using format::TextId;

namespace {

struct StoredText {
  std::uint32_t offset;
  std::uint32_t bytes;
};
struct StoredCode {
  PythonFrame identity; // lasti is not part of it
  TextId function;
  TextId file;
};
// A frame takes 12 bytes, because `import torch` alone brings 46,000.
struct StoredFrame {
  std::uint32_t caller_and_python; // caller << 1 | 1 for a Python frame
  std::uint32_t low, high;         // of the payload
  StoredFrame(StackId caller, bool python, std::uint64_t payload)
      : caller_and_python(static_cast<std::uint32_t>(caller) << 1 | static_cast<std::uint32_t>(python)),
        low(static_cast<std::uint32_t>(payload)),
        high(static_cast<std::uint32_t>(payload >> 32)) {}
  std::uint32_t caller() const { return caller_and_python >> 1; }
  bool python() const { return (caller_and_python & 1) != 0; }
  std::uint64_t payload() const { return halves(low, high); }
  friend bool operator==(const StoredFrame&, const StoredFrame&) = default;
};

// The code and line of a frame, found by a hash of all its fields. This saves 0.5 us for each frame of a new
// stack.
struct Placed {
  std::uint64_t frame;
  CodeId code;
  std::uint32_t line;
};
constexpr std::uint32_t kPlaced = 8 * 1024;

constexpr std::uint32_t kTextArena = 8 << 20;
constexpr std::size_t kNamesRoom = 2048;
constexpr std::size_t kBufferBytes = 256 * 1024;

constinit SpinLock definitions_lock;
REGISTER_LOCK(definitions_lock, nullptr);
constinit IdTable<StoredText, 64 * 1024> texts{};
constinit IdTable<StoredCode, 32 * 1024> codes{};
constinit IdTable<StoredFrame, 512 * 1024> nodes{}; // 10 MiB when full
constinit bool full = false;
constinit Placed* placed = nullptr; // direct-mapped cache
constinit char* arena = nullptr;
constinit std::uint32_t arena_used = 0;
constinit bool written = false; // definitions go to the rings from now on

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const auto wide = static_cast<unsigned __int128>(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xD1B54A32D192ED03u);
  return static_cast<std::uint64_t>(wide) ^ static_cast<std::uint64_t>(wide >> 64);
}

std::uint64_t hash_bytes(const char* text, std::size_t bytes) {
  std::uint64_t hash = bytes;
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x100000001B3u;
  return mix(hash, bytes);
}

std::uint64_t hash_code(const PythonFrame& identity) {
  return mix(reinterpret_cast<std::uint64_t>(identity.code) ^ identity.name_hash,
             reinterpret_cast<std::uint64_t>(identity.line_table) ^ identity.first_line);
}

std::uint64_t hash_frame(const PythonFrame& frame) {
  const std::uint64_t where =
      mix(reinterpret_cast<std::uint64_t>(frame.code), halves(frame.lasti, frame.first_line));
  const std::uint64_t what = mix(reinterpret_cast<std::uint64_t>(frame.line_table), frame.name_hash);
  return mix(where + reinterpret_cast<std::uint64_t>(frame.file), what);
}

// Each of these functions calls `put(record)` for the records that define entry `id`.
template <class Put>
void define_text(std::uint32_t id, Put put) {
  const StoredText& text = texts.at(id);
  each_text_record(TextId{id}, arena + text.offset, text.bytes, put);
}

template <class Put>
void define_code(std::uint32_t id, Put put) {
  const StoredCode& code = codes.at(id);
  RingRecord record =
      record_of(format::CodeEvent{format::CodeId{id}, code.identity.first_line, code.function, code.file});
  put(record);
}

template <class Put>
void define_node(std::uint32_t id, Put put) {
  const StoredFrame& node = nodes.at(id);
  RingRecord record =
      record_of(format::StackEvent{format::StackId{id}, format::StackId{node.caller()}, node.payload()});
  record.flags = node.python() ? format::kPythonFrame : 0;
  put(record);
}

template <class Put>
void define_module(std::uint32_t id, Put put) {
  const LoadedModule& module = module_at(id);
  format::ModuleEvent event{};
  event.id = format::ModuleId{id};
  event.path = module.path;
  event.bias = module.bias;
  event.first = module.start;
  event.pages = static_cast<std::uint32_t>((module.end - module.start) / format::kPage);
  std::memcpy(event.build_id, module.build_id, sizeof event.build_id);
  std::memcpy(event.build_id_tail, module.build_id + sizeof event.build_id, sizeof event.build_id_tail);
  RingRecord record = record_of(event);
  record.flags = module.build_id_bytes;
  put(record);
}

void to_ring(RingRecord& record) {
  emit_bare(record);
}

// The caller holds the lock.
TextId text_of(const char* text, std::size_t bytes) {
  const std::uint32_t found = texts.find_or_add(
      hash_bytes(text, bytes),
      [&](const StoredText& have) {
        return have.bytes == bytes && std::memcmp(arena + have.offset, text, bytes) == 0;
      },
      [](const StoredText& have) { return hash_bytes(arena + have.offset, have.bytes); });
  if (found == 0) lost(format::Loss::stacks);
  if (!texts.added()) return TextId{found};
  if (arena == nullptr) arena = static_cast<char*>(os::map_private(kTextArena));
  if (arena == nullptr || arena_used + bytes > kTextArena) {
    texts.undo();
    lost(format::Loss::stacks);
    return TextId{0};
  }
  std::memcpy(arena + arena_used, text, bytes);
  texts.at(found) = {arena_used, static_cast<std::uint32_t>(bytes)};
  arena_used += static_cast<std::uint32_t>(bytes);
  if (written) define_text(found, to_ring);
  return TextId{found};
}

CodeId code_of(const PythonFrame& frame, const PythonNames& names) {
  PythonFrame identity = frame;
  identity.lasti = 0;
  const std::uint32_t id = codes.find_or_add(
      hash_code(identity), [&](const StoredCode& have) { return have.identity == identity; },
      [](const StoredCode& have) { return hash_code(have.identity); });
  if (id == 0) lost(format::Loss::stacks);
  if (!codes.added()) return CodeId{id};
  codes.at(id).identity = identity;
  codes.at(id).function = text_of(names.function, names.function_bytes);
  codes.at(id).file = text_of(names.file, names.file_bytes);
  if (written) define_code(id, to_ring);
  return CodeId{id};
}

// Returns the caller's node if the table is full: the stack then ends with the known frames.
StackId node_of(const StoredFrame& wanted) {
  const auto hash_of = [](const StoredFrame& node) { return mix(node.payload(), node.caller_and_python); };
  const std::uint32_t id = nodes.find_or_add(
      hash_of(wanted), [&](const StoredFrame& have) { return have == wanted; }, hash_of);
  if (id == 0) {
    full = true;
    return StackId{wanted.caller()};
  }
  if (!nodes.added()) return StackId{id};
  nodes.at(id) = wanted;
  if (written) define_node(id, to_ring);
  return StackId{id};
}

struct RecordWriter {
  std::uint8_t* buffer;
  Encoder encoder;

  explicit RecordWriter(std::uint8_t* bytes) : buffer(bytes), encoder(start()) {}
  void operator()(const RingRecord& record) {
    if (encoder.add(record)) return;
    flush();
    encoder.add(record);
  }
  Encoder start() {
    beginning_model.restart();
    return {buffer, kBufferBytes, beginning_model};
  }
  void flush() {
    if (encoder.records() == 0) return;
    const format::SegmentHeader header =
        encoder.header(trace_file.trace_id, 0, format::Source::definitions, trace_file.definitions);
    const Appended appended = append_to_trace(header, buffer, Part::definitions);
    if (appended != Appended::yes)
      lost(appended == Appended::failed ? format::Loss::disk : format::Loss::bound, header.records);
    trace_file.definitions += header.records;
    encoder = start();
  }
};

} // namespace

TextId intern_text(const char* text, std::size_t bytes) {
  const Locked locked(definitions_lock);
  if (locked) return text_of(text, bytes);
  lost(format::Loss::stacks);
  return TextId{0};
}

bool stacks_are_full() {
  return full;
}

std::size_t copy_text(TextId id, char* out, std::size_t capacity) {
  const auto index = static_cast<std::uint32_t>(id);
  if (index == 0 || index >= texts.end()) return 0;
  const StoredText& text = texts.at(index);
  const std::size_t bytes = text.bytes < capacity ? text.bytes : capacity;
  std::memcpy(out, arena + text.offset, bytes);
  return bytes;
}

StackId intern_python(StackId caller, const PythonFrame& frame) {
  const Locked locked(definitions_lock);
  if (!locked) return caller;
  if (placed == nullptr) placed = static_cast<Placed*>(os::map_private(kPlaced * sizeof(Placed)));
  if (placed == nullptr) return caller;
  const std::uint64_t hash = hash_frame(frame);
  Placed& known = placed[hash % kPlaced];
  if (known.code == CodeId{0} || known.frame != hash) {
    char room[kNamesRoom];
    PythonNames names;
    if (!python_names(frame, &names, room, sizeof room)) return caller;
    known = {hash, code_of(frame, names), names.line};
  }
  return node_of({caller, true, halves(static_cast<std::uint32_t>(known.code), known.line)});
}

StackId intern_native(StackId caller, std::uint64_t address) {
  const Locked locked(definitions_lock);
  if (!locked) return caller;
  bool added = false;
  const std::uint32_t module = find_module(address, &added, &text_of);
  if (added && written) define_module(module, to_ring);
  return node_of({caller, false, address});
}

void write_definitions(void (*first)(void (*put)(void*, const RingRecord&), void*)) {
  const Locked locked(definitions_lock);
  auto* const buffer = static_cast<std::uint8_t*>(os::map_private(kBufferBytes));
  if (buffer != nullptr) {
    RecordWriter writer(buffer);
    first([](void* out, const RingRecord& record) { (*static_cast<RecordWriter*>(out))(record); }, &writer);
    const auto put = [&](const RingRecord& record) { writer(record); };
    for (std::uint32_t id = 1; id < texts.end(); ++id) define_text(id, put);
    for (std::uint32_t id = 1; id < codes.end(); ++id) define_code(id, put);
    for (std::uint32_t id = 1; id < modules_end(); ++id) define_module(id, put);
    for (std::uint32_t id = 1; id < nodes.end(); ++id) define_node(id, put);
    writer.flush();
    os::unmap(buffer, kBufferBytes);
  } else {
    lost(format::Loss::memory, texts.end() + codes.end() + nodes.end());
  }
  written = true;
}

std::uint64_t definition_bytes() {
  return texts.bytes() + codes.bytes() + nodes.bytes() + arena_used +
         (placed != nullptr ? kPlaced * sizeof(Placed) : 0);
}

void drop_definition_cache() {
  const Locked locked(definitions_lock);
  if (!locked || placed == nullptr) return;
  os::unmap(placed, kPlaced * sizeof(Placed));
  placed = nullptr;
}

void definitions_forked() {
  written = false;
}

bool hold_definitions() {
  return definitions_lock.lock();
}
void release_definitions() {
  definitions_lock.unlock();
}

} // namespace memtrace::record
