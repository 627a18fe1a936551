// Room: record. The background thread only.
// Job: what the kernel says of this process and its cgroup, as segments of thread 0.
#include "record/samples.h"

#include <cstring>

#include "record/encode.h"
#include "record/line.h"
#include "record/loss.h"
#include "record/os.h"
#include "record/stamp.h"
#include "record/windows.h"

namespace memtrace::record {

using format::EventType;
using format::RingRecord;

namespace {

constexpr std::size_t kFileBytes = 16 * 1024;
constexpr std::uint64_t kNoLimit = 0x7FFFFFFFFFFFF000; // what version 1 says when there is none
constexpr unsigned kMaxLevels = 12;
constexpr std::uint32_t kOwnTexts = 0x80000000; // text ids that the background thread hands out

constinit char file_text[kFileBytes];
constinit Path group{}; // directory of this process's memory cgroup; empty: none found
constinit std::size_t root_bytes = 0;
constinit bool version_two = false;
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
};

// The whole file, NUL-terminated, or null.
const char* read_file(const char* path) {
  const long fd = os::open_read(path);
  if (fd < 0) return nullptr;
  const long bytes = os::read_all(fd, file_text, kFileBytes - 1);
  os::close(fd);
  if (bytes < 0) return nullptr;
  file_text[bytes] = '\0';
  return file_text;
}

std::uint64_t number_at(const char* text) {
  while (*text == ' ' || *text == '\t') ++text;
  if (*text < '0' || *text > '9') return ~std::uint64_t{0}; // "max"
  std::uint64_t value = 0;
  for (; *text >= '0' && *text <= '9'; ++text) value = value * 10 + static_cast<std::uint64_t>(*text - '0');
  return value;
}

// The number after `key` at the start of a line, 0 if there is none.
std::uint64_t value_of(const char* text, const char* key) {
  const std::size_t bytes = std::strlen(key);
  for (const char* line = text; line != nullptr && *line != '\0';) {
    if (std::strncmp(line, key, bytes) == 0) return number_at(line + bytes);
    line = std::strchr(line, '\n');
    if (line != nullptr) ++line;
  }
  return 0;
}

// The path in a line `ID:CONTROLLERS:PATH` of version 1 whose controllers include memory, else null.
const char* memory_path_of(const char* line) {
  const char* at = std::strchr(line, ':');
  while (at != nullptr && *at != '\n' && *at != '\0') {
    ++at;
    const std::size_t bytes = std::strcspn(at, ",:\n");
    if (bytes == 6 && std::strncmp(at, "memory", 6) == 0) return std::strchr(at, ':') + 1;
    if (at[bytes] != ',') return nullptr;
    at += bytes;
  }
  return nullptr;
}

void find_group() {
  looked = true;
  const char* const text = read_file("/proc/self/cgroup");
  if (text == nullptr) return;
  const char* path = nullptr;
  const char* root = "/sys/fs/cgroup";
  for (const char* line = text; line != nullptr && *line != '\0';) {
    const char* const end = std::strchr(line, '\n');
    if (const char* const after = memory_path_of(line); after != nullptr) {
      path = after;
      root = "/sys/fs/cgroup/memory";
      version_two = false;
      break;
    }
    if (std::strncmp(line, "0::", 3) == 0) {
      path = line + 3;
      version_two = true;
    }
    line = end == nullptr ? nullptr : end + 1;
  }
  if (path == nullptr) return;
  group.add(root);
  root_bytes = group.size();
  if (const std::size_t bytes = std::strcspn(path, "\n"); bytes > 1)
    group.add(path, bytes); // "/" is the root itself
  // In a container the path may be the host's: then the mounted root is this process's own group.
  if (!os::exists(group.text())) {
    group.clear();
    group.add(root);
  }
}

std::uint64_t read_number(const Path& directory, std::size_t bytes, const char* name) {
  Path path;
  path.add(directory.text(), bytes).add("/").add(name);
  const char* const text = read_file(path.text());
  return text == nullptr ? ~std::uint64_t{0} : number_at(text);
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

void add_process(Gathered& gathered) {
  const char* const text = read_file("/proc/self/status");
  if (text == nullptr) return;
  RingRecord record = record_of(EventType::sample_process);
  static constexpr const char* keys[] = {"RssAnon:", "RssFile:", "RssShmem:", "VmHWM:", "VmSwap:", "VmPTE:"};
  for (std::size_t i = 0; i < 6; ++i) record.word[i] = value_of(text, keys[i]) * 1024;
  gathered.encoder.add(record);
  gathered.process = record;
}

void add_group(Gathered& gathered, std::size_t bytes, unsigned level) {
  const std::uint64_t charge =
      read_number(group, bytes, version_two ? "memory.current" : "memory.usage_in_bytes");
  if (charge == ~std::uint64_t{0}) return; // v2's root has no such file
  if (!named[level]) add_text(gathered, kOwnTexts + level, group.text(), bytes);
  fresh[level] = !named[level];
  named[level] = true;
  RingRecord record = record_of(EventType::sample_cgroup);
  record.flags = static_cast<std::uint16_t>(level);
  record.word[0] = kOwnTexts + level;
  record.word[1] = charge;
  record.word[2] = read_number(group, bytes, version_two ? "memory.max" : "memory.limit_in_bytes");
  if (record.word[2] >= kNoLimit) record.word[2] = ~std::uint64_t{0};
  Path path;
  path.add(group.text(), bytes).add("/memory.stat");
  if (const char* const text = read_file(path.text()); text != nullptr) {
    record.word[3] = value_of(text, version_two ? "anon " : "total_rss ");
    record.word[4] = value_of(text, version_two ? "file " : "total_cache ");
  }
  path.clear();
  path.add(group.text(), bytes).add(version_two ? "/memory.events" : "/memory.oom_control");
  if (const char* const text = read_file(path.text()); text != nullptr)
    record.word[5] = value_of(text, "oom_kill ");
  gathered.encoder.add(record);
}

// The names of groups are definitions: the window they are in may go.
void note_names() {
  std::size_t bytes = group.size();
  for (unsigned level = 0; level < kMaxLevels; ++level) {
    if (fresh[level]) note_late_text(format::TextId{kOwnTexts + level}, group.text(), bytes);
    if (bytes <= root_bytes) break;
    while (bytes > root_bytes && group.text()[bytes - 1] != '/') --bytes;
    if (bytes > root_bytes) --bytes;
  }
  write_late();
}

// Where everything else that is recorded goes, and between two passes.
bool append(const Gathered& gathered) {
  const Locked locked(pass_lock);
  if (!locked) return false;
  rotate_if_due();
  const std::uint32_t window = current_window();
  const bool opens = window != 0 && said_in != window;
  const format::SegmentHeader header = gathered.encoder.header(
      trace_file.trace_id, 0, format::Source::ring, sequence, opens ? format::kAfterWindow : std::uint8_t{0});
  if (append_events(header, payload, false) != Appended::yes) return false;
  sequence += gathered.encoder.records();
  if (window != 0) note_names();
  said_in = window;
  if (gathered.process.type != 0) folded.apply(0, gathered.process);
  return true;
}

} // namespace

void sample_now(bool groups) {
  if (!looked) find_group();
  model.restart();
  for (bool& level : fresh) level = false;
  Gathered gathered{Encoder(payload, sizeof payload, model), {}};
  add_process(gathered);
  std::size_t bytes = groups ? group.size() : 0;
  for (unsigned level = 0; bytes != 0 && level < kMaxLevels; ++level) {
    add_group(gathered, bytes, level);
    if (bytes <= root_bytes) break;
    while (bytes > root_bytes && group.text()[bytes - 1] != '/') --bytes;
    if (bytes > root_bytes) --bytes;
  }
  if (gathered.encoder.records() != 0 && append(gathered)) return;
  for (bool& level : named) level = false; // the names went with the segment
}

void forget_samples() {
  sequence = 0;
  said_in = 0;
  looked = false;
  group.clear();
  for (bool& level : named) level = false;
}

} // namespace memtrace::record
