// Purpose: the ring file: creates it, maps it in steps, and gives out its chunks as slots and as longer rings.
// Runs: inside the program's malloc, and in the drain.
#include "preload/ring/ring_file.h"

#include "preload/os/clocks.h"
#include "preload/os/files.h"
#include "preload/os/mappings.h"
#include "preload/os/paths.h"
#include "preload/os/threads.h"
#include "preload/trace/trace_file.h"

namespace memtrace::record {

using format::kChunkBytes;
using format::RingRecord;
using format::RingSlot;

constinit std::uint32_t ring_words[format::kMaxSlots] = {};

namespace {

constexpr std::uint64_t kRetryNs = 1'000'000'000; // after a disk error
// Chunks per mapping. One mapping per chunk would make 2,000 mappings. One for the whole file would take 32 MiB
// of RLIMIT_AS.
constexpr std::uint32_t kStepChunks = 64;
constexpr std::uint32_t kMaxChunks = 4096;

// The flags of each chunk.
constexpr std::uint8_t kUsed = 1;
constexpr std::uint8_t kOnDisk = 2; // its blocks in the file are allocated
constexpr std::uint8_t kOutgrown = 4;

constinit Path path{};
constinit format::RingFileHeader* header = nullptr;
constinit char* steps[kMaxChunks / kStepChunks] = {};
constinit std::uint8_t chunks[kMaxChunks] = {};
constinit std::uint32_t used = 0;    // number of chunks in use
constinit std::uint32_t highest = 0; // all chunks that were ever used are below it
constinit std::uint32_t batches = 0; // batches of slots after the first chunk
constinit char* batch_at[format::kMaxBatches] =
    {}; // not read from the file, where a stray write could reach them
constinit bool any_outgrown = false;
constinit std::uint64_t no_chunk_before = 0; // after a disk error: no new try before this time

// Returns how many chunks the bound allows now.
std::uint32_t chunks_admitted() {
  const bool shared = trace_file.shares.window == 0; // the trace file and the rings share one bound
  const std::uint64_t others = shared ? __atomic_load_n(&trace_file.bytes, __ATOMIC_RELAXED) : 0;
  const std::uint64_t room = trace_file.shares.rings > others ? trace_file.shares.rings - others : 0;
  return room / kChunkBytes < kMaxChunks ? static_cast<std::uint32_t>(room / kChunkBytes) : kMaxChunks;
}

char* chunk_at(std::uint32_t chunk) {
  return steps[chunk / kStepChunks] + chunk % kStepChunks * kChunkBytes;
}

bool map_step(long fd, std::uint32_t step) {
  if (steps[step] != nullptr) return true;
  steps[step] = static_cast<char*>(
      os::map_shared(fd, std::uint64_t{step} * kStepChunks * kChunkBytes, kStepChunks * kChunkBytes));
  return steps[step] != nullptr;
}

// Allocates the blocks of `count` chunks and maps them. If the disk is full, a store to a page without blocks
// would raise SIGBUS.
bool prepare(std::uint32_t first, std::uint32_t count) {
  bool ready = steps[first / kStepChunks] != nullptr;
  for (std::uint32_t i = first; i < first + count; ++i) ready = ready && (chunks[i] & kOnDisk) != 0;
  if (ready) return true;
  if (os::monotonic_ns() < no_chunk_before) return false;
  const long fd = os::open_own(path.text(), os::For::changing);
  bool done = fd >= 0 && os::allocate(fd, first * kChunkBytes, count * kChunkBytes) >= 0;
  done = done && map_step(fd, first / kStepChunks);
  if (fd >= 0) os::close(fd);
  if (!done) {
    no_chunk_before = os::monotonic_ns() + kRetryNs;
    return false;
  }
  for (std::uint32_t i = first; i < first + count; ++i) chunks[i] |= kOnDisk;
  if (first + count > highest) highest = first + count;
  __atomic_store_n(&trace_file.ring_bytes, highest * kChunkBytes, __ATOMIC_RELAXED);
  return true;
}

// Returns the first of `count` adjacent free chunks, at a multiple of `count`, or 0 if there are none. Chunk 0
// has the header.
std::uint32_t find_free(std::uint32_t count, std::uint32_t admitted) {
  for (std::uint32_t first = count == 1 ? 1 : count; first + count <= admitted; first += count) {
    std::uint32_t free = 0;
    while (free < count && (chunks[first + free] & kUsed) == 0) ++free;
    if (free == count) return first;
  }
  return 0;
}

// Returns false if there is no room within the bound, or on the disk.
bool take_chunks(std::uint32_t count, std::uint32_t keep_free, std::uint32_t* first) {
  const std::uint32_t admitted = chunks_admitted();
  if (used + count + keep_free > admitted) return false;
  *first = find_free(count, admitted);
  if (*first == 0 || !prepare(*first, count)) return false;
  for (std::uint32_t i = 0; i < count; ++i) chunks[*first + i] |= kUsed;
  used += count;
  return true;
}

void free_chunks(std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t i = first; i < first + count; ++i) chunks[i] &= kOnDisk;
  used -= count;
}

std::uint32_t chunks_of(std::uint32_t ring) {
  return static_cast<std::uint32_t>(format::records_of_ring(ring) * sizeof(RingRecord) / kChunkBytes);
}

void publish_ring(std::uint32_t index, std::uint32_t ring) {
  __atomic_store_n(&ring_words[index], ring, __ATOMIC_RELEASE);
}

// Forgets everything except the header and the first step, which other threads may read at any time.
void forget_tables() {
  for (std::uint32_t i = 1; i * kStepChunks < highest; ++i) steps[i] = nullptr;
  for (std::uint32_t i = 0; i < highest; ++i) chunks[i] = 0;
  for (std::uint32_t i = 0; i < slots_made(); ++i) publish_ring(i, 0);
  used = highest = 0;
  __atomic_store_n(&batches, 0u, __ATOMIC_RELAXED);
  any_outgrown = false;
}

} // namespace

bool create_ring_file(const Path& at, std::uint64_t trace_id) {
  if (at.cut()) return false;
  const long fd = os::create(at.text());
  if (fd < 0) return false;
  char* const first = os::allocate(fd, 0, kChunkBytes) >= 0
                          ? static_cast<char*>(os::map_shared(fd, 0, kStepChunks * kChunkBytes))
                          : nullptr;
  os::close(fd);
  if (first == nullptr) {
    os::unlink(at.text());
    return false;
  }
  path = at;
  auto* const made = reinterpret_cast<format::RingFileHeader*>(first);
  std::memcpy(made->magic, format::kRingMagic, sizeof made->magic);
  made->version = format::kVersion;
  made->pid = static_cast<std::uint32_t>(os::process_id());
  made->trace_id = trace_id;
  made->chunk_bytes = static_cast<std::uint32_t>(kChunkBytes);
  made->slots = format::kFirstSlots;
  forget_tables();
  steps[0] = first;
  chunks[0] = kUsed | kOnDisk;
  used = highest = 1;
  // After a failed exec, other threads still read the old header. The pointer is never null in between.
  __atomic_store_n(&header, made, __ATOMIC_RELEASE);
  __atomic_store_n(&trace_file.ring_bytes, std::uint64_t{kChunkBytes}, __ATOMIC_RELAXED);
  no_chunk_before = 0;
  return true;
}

void remove_ring_file() {
  os::unlink(path.text());
}

void forget_ring_file() {
  __atomic_store_n(&header, nullptr, __ATOMIC_RELAXED);
  steps[0] = nullptr;
  forget_tables();
}

const Path& ring_path() {
  return path;
}
format::RingFileHeader* ring_header() {
  return __atomic_load_n(&header, __ATOMIC_ACQUIRE);
}

std::uint32_t slots_made() {
  return format::kFirstSlots + __atomic_load_n(&batches, __ATOMIC_ACQUIRE) * format::kBatchSlots;
}

RingSlot* slot_at(std::uint32_t index) {
  char* at = steps[0] + format::kPage;
  if (index >= format::kFirstSlots) {
    index -= format::kFirstSlots;
    at = batch_at[index / format::kBatchSlots];
    index %= format::kBatchSlots;
  }
  return reinterpret_cast<RingSlot*>(at + index * format::kSlotBytes);
}

void forget_chunk_errors() {
  no_chunk_before = 0;
}

Ring ring_at(std::uint32_t ring) {
  return {reinterpret_cast<RingRecord*>(chunk_at(format::chunk_of_ring(ring))), format::records_of_ring(ring)};
}

Ring ring_of(std::uint32_t index) {
  const std::uint32_t ring = ring_word(index);
  return ring != 0 ? ring_at(ring) : Ring{records_inside(slot_at(index)), format::kSlotRecords};
}

void set_ring(std::uint32_t index, std::uint32_t ring) {
  publish_ring(index, ring);
  __atomic_store_n(&slot_at(index)->ring, ring, __ATOMIC_RELEASE);
}

bool add_slots(std::uint32_t keep_free) {
  std::uint32_t chunk = 0;
  if (batches == format::kMaxBatches || !take_chunks(1, keep_free, &chunk)) return false;
  std::memset(chunk_at(chunk), 0, kChunkBytes); // the chunk may have old records
  header->batch[batches] = static_cast<std::uint16_t>(chunk);
  batch_at[batches] = chunk_at(chunk);
  __atomic_store_n(&batches, batches + 1, __ATOMIC_RELEASE);
  __atomic_store_n(&header->slots, slots_made(), __ATOMIC_RELEASE);
  return true;
}

std::uint32_t lease_ring(std::uint32_t log2_records, Spare spare) {
  const std::uint32_t admitted = chunks_admitted();
  const std::uint32_t keep = spare == Spare::half ? admitted / 2 : spare == Spare::quarter ? admitted / 4 : 0;
  const std::uint32_t count = chunks_of(format::ring_at(1, log2_records));
  std::uint32_t first = 0;
  if (!take_chunks(count, keep, &first)) return 0;
  auto* const records = reinterpret_cast<RingRecord*>(chunk_at(first));
  for (std::uint32_t i = 0; i < std::uint32_t{1} << log2_records; ++i)
    records[i].commit = 0; // the last owner's would look valid
  return format::ring_at(first, log2_records);
}

void give_back_ring(std::uint32_t ring) {
  if (ring != 0) free_chunks(format::chunk_of_ring(ring), chunks_of(ring));
}

void outgrow_ring(std::uint32_t ring) {
  if (ring == 0) return;
  const std::uint32_t first = format::chunk_of_ring(ring);
  for (std::uint32_t i = first; i < first + chunks_of(ring); ++i) chunks[i] |= kOutgrown;
  __atomic_store_n(&any_outgrown, true, __ATOMIC_RELAXED);
}

void free_outgrown() {
  if (!__atomic_load_n(&any_outgrown, __ATOMIC_RELAXED)) return;
  for (std::uint32_t i = 0; i < highest; ++i)
    if ((chunks[i] & kOutgrown) != 0) free_chunks(i, 1);
  any_outgrown = false;
}

} // namespace memtrace::record
