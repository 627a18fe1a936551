// Purpose: writes traces as the recorder would, and damaged ones as it would not.
#include "builder.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "preload/trace/record_encoder.h"

namespace memtrace::tests {

using format::halves;

namespace {

constexpr std::uint32_t kPid = 4242; // of the process

} // namespace

Scratch::Scratch() {
  std::string pattern = (std::filesystem::temp_directory_path() / "memtrace-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no scratch directory");
  path_ = pattern;
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::string encode(const std::vector<RingRecord>& records, std::uint32_t thread, Source source,
                   std::uint64_t first_sequence, std::uint64_t trace_id, std::uint8_t flags) {
  std::vector<std::uint8_t> payload(records.size() * format::kMaxCoded + format::kMaxCoded);
  format::Model model;
  record::Encoder encoder(payload.data(), payload.size(), model);
  for (const RingRecord& record : records) {
    if (!encoder.add(record)) throw std::runtime_error("the encoder is full");
  }
  const format::SegmentHeader header = encoder.header(trace_id, thread, source, first_sequence, flags);
  std::string out(reinterpret_cast<const char*>(&header), sizeof header);
  out.append(reinterpret_cast<const char*>(payload.data()), encoder.bytes());
  return out;
}

std::string ring_file(const std::vector<RingSlotContent>& slots,
                      const std::map<format::Loss, std::uint64_t>& lost, std::uint64_t trace_id) {
  format::RingFileHeader header{};
  std::memcpy(header.magic, format::kRingMagic, sizeof header.magic);
  header.version = format::kVersion;
  header.trace_id = trace_id;
  header.chunk_bytes = format::kChunkBytes;
  header.slots = static_cast<std::uint32_t>(slots.size());
  for (const auto& [reason, count] : lost) header.lost[static_cast<std::size_t>(reason)] = count;
  if (slots.size() > format::kFirstSlots) throw std::runtime_error("more slots than the first chunk has");
  constexpr std::uint32_t kLog2Longest = 11;
  constexpr std::size_t kChunks = format::kRingRecords * sizeof(RingRecord) / format::kChunkBytes;
  std::string out(format::kChunkBytes, '\0');
  std::memcpy(out.data(), &header, sizeof header);
  std::size_t at = format::kPage;
  for (const RingSlotContent& content : slots) {
    format::RingSlot slot{};
    slot.thread = content.thread;
    slot.tid = 100 + content.thread;
    slot.tail = content.tail;
    slot.head = content.tail + content.records.size();
    slot.small = content.small;
    std::size_t ring = at + sizeof slot;
    if (content.records.size() > format::kSlotRecords) { // a ring of its own
      const std::size_t chunk = (out.size() / format::kChunkBytes + kChunks - 1) / kChunks * kChunks;
      slot.ring = format::ring_at(static_cast<std::uint32_t>(chunk), kLog2Longest);
      ring = chunk * format::kChunkBytes;
      out.resize(ring + kChunks * format::kChunkBytes);
    }
    std::memcpy(out.data() + at, &slot, sizeof slot);
    for (std::size_t i = 0; i < content.records.size(); ++i) {
      RingRecord record = content.records[i];
      record.commit = static_cast<std::uint32_t>(content.tail + i + 1);
      const std::size_t index = (content.tail + i) % format::records_of_ring(slot.ring);
      std::memcpy(out.data() + ring + index * sizeof record, &record, sizeof record);
    }
    at += format::kSlotBytes;
  }
  return out;
}

Builder::Builder() {
  const std::uint32_t exe = text("/usr/bin/python3");
  const std::uint32_t argv =
      text(std::string("python\0/home/u/train.py\0--lr\0"
                       "1",
                       30));
  const std::uint32_t host = text("node");
  const std::uint32_t cwd = text("/home/u");
  define(EventType::process, 0, 0,
         {halves(kPid, 4200), kUnix, halves(exe, argv), halves(host, cwd), 4096, halves(524288, 4096)});
  definitions_.back().stamp = kStart;
  const std::uint32_t job = text("job-1");
  define(EventType::job, 0, 0, {halves(job, 1), ~std::uint64_t{0}, 0});
}

void Builder::define(EventType type, std::uint8_t kind, std::uint16_t flags,
                     const std::vector<std::uint64_t>& words) {
  RingRecord record{};
  record.type = static_cast<std::uint8_t>(type);
  record.kind = kind;
  record.flags = flags;
  record.stamp = kStart;
  std::copy(words.begin(), words.end(), record.payload.word);
  definitions_.push_back(record);
}

std::uint32_t Builder::text(const std::string& text) {
  const auto [at, fresh] = texts_.try_emplace(text, static_cast<std::uint32_t>(texts_.size() + 1));
  if (!fresh) return at->second;
  std::size_t done = 0;
  do {
    const std::size_t bytes = std::min(text.size() - done, format::kTextChunk);
    std::vector<std::uint64_t> words(format::kWords);
    words[0] = at->second;
    std::memcpy(&words[1], text.data() + done, bytes);
    done += bytes;
    const bool more = done < text.size();
    define(EventType::text, 0, static_cast<std::uint16_t>(bytes | (more ? format::kTextMore : 0)), words);
  } while (done < text.size());
  return at->second;
}

std::uint32_t Builder::python_frame(const std::string& function, const std::string& file, std::uint32_t line,
                                    std::uint32_t caller) {
  const std::uint32_t code = ++codes_;
  const std::uint32_t function_text = text(function);
  const std::uint32_t file_text = text(file);
  define(EventType::code, 0, 0, {halves(code, 1), halves(function_text, file_text)});
  define(EventType::stack, 0, format::kPythonFrame, {halves(++stacks_, caller), halves(code, line)});
  return stacks_;
}

std::uint32_t Builder::native_frame(std::uint64_t return_address, std::uint32_t caller) {
  define(EventType::stack, 0, 0, {halves(++stacks_, caller), return_address});
  return stacks_;
}

void Builder::module(const std::string& path, std::uint64_t bias, std::uint64_t first, std::uint32_t pages,
                     const std::vector<std::uint8_t>& build_id) {
  std::uint8_t id[20] = {};
  std::copy(build_id.begin(), build_id.end(), id);
  std::uint32_t tail = 0;
  std::uint64_t parts[2];
  std::memcpy(parts, id, 16);
  std::memcpy(&tail, id + 16, 4);
  const std::uint32_t path_text = text(path);
  define(EventType::module, 0, static_cast<std::uint16_t>(build_id.size()),
         {halves(++modules_, path_text), bias, first, halves(pages, tail), parts[0], parts[1]});
}

Builder& Builder::on(std::uint32_t thread) {
  thread_ = thread;
  return *this;
}

Builder& Builder::put(EventType type, std::uint8_t kind, std::uint16_t flags,
                      const std::vector<std::uint64_t>& words, std::uint64_t stamp) {
  RingRecord record{};
  record.type = static_cast<std::uint8_t>(type);
  record.kind = kind;
  record.flags = flags;
  record.stamp = stamp != 0 ? stamp : (stamp_ += 1000);
  std::copy(words.begin(), words.end(), record.payload.word);
  threads_[thread_].push_back(record);
  return *this;
}

Builder& Builder::birth(std::uint64_t address, std::uint64_t given, Kind kind, std::uint16_t flags,
                        std::uint32_t stack, std::uint64_t asked, Small small) {
  return put(EventType::birth, static_cast<std::uint8_t>(kind), flags,
             {address, given, asked != 0 ? asked : given, stack, halves(small.allocated, small.freed),
              halves(small.births, small.deaths)});
}

Builder& Builder::tensor(std::uint64_t address, std::uint64_t asked, std::uint32_t stack) {
  return birth(address, asked + 8, Kind::heap, format::kTensor, stack, asked);
}

Builder& Builder::death(std::uint64_t address, std::uint64_t given, Kind kind, std::uint16_t flags,
                        Small small) {
  return put(EventType::death, static_cast<std::uint8_t>(kind), flags,
             {address, given, 0, 0, halves(small.allocated, small.freed), halves(small.births, small.deaths)});
}

Builder& Builder::unmap(std::uint64_t address, std::uint64_t bytes, std::uint16_t flags) {
  return death(address, bytes, Kind::mmap_anon, static_cast<std::uint16_t>(format::kRange | flags));
}

Builder& Builder::move(std::uint64_t from, std::uint64_t to, std::uint64_t given, std::uint64_t before,
                       std::uint32_t later_ns, Kind kind) {
  return put(EventType::move, static_cast<std::uint8_t>(kind), 0,
             {from, to, given, given, before, halves(0, later_ns)});
}

Builder& Builder::remap(std::uint64_t from, std::uint64_t to, std::uint64_t given, std::uint64_t before,
                        std::uint32_t later_ns) {
  return put(EventType::move, 0, format::kRange, {from, to, given, given, before, halves(0, later_ns)});
}

Builder& Builder::protect(std::uint64_t address, std::uint64_t bytes, std::uint32_t protection) {
  return put(EventType::protect, 0, 0, {address, bytes, protection});
}

Builder& Builder::counters(std::uint64_t allocated, std::uint64_t freed, std::uint64_t births,
                           std::uint64_t deaths) {
  return put(EventType::counters, 0, 0, {allocated, freed, births, deaths});
}

Builder& Builder::begin(const std::string& phase, std::uint16_t flags) {
  return put(EventType::phase_begin, 0, flags, {text(phase)});
}

Builder& Builder::end(const std::string& phase, std::uint16_t flags) {
  return put(EventType::phase_end, 0, flags, {text(phase)});
}

Builder& Builder::step(std::uint64_t number) {
  return put(EventType::step, 0, 0, {number});
}

Builder& Builder::exit(std::uint32_t code, format::EndHow how) {
  return put(EventType::end, static_cast<std::uint8_t>(how), 0, {code});
}

Builder& Builder::sample(std::uint64_t anon, std::uint64_t file, std::uint64_t shmem,
                         std::uint64_t high_water) {
  return put(EventType::sample_process, 0, 0, {anon, file, shmem, high_water, 0, 0});
}

Builder& Builder::parameters(std::uint64_t count, std::uint64_t bytes, std::uint64_t tensors) {
  return put(EventType::parameters, 0, 0, {count, count, bytes, tensors});
}

Builder& Builder::fork(std::uint64_t live, std::uint64_t tensor) {
  define(EventType::fork, 0, 0, {4200, 7, kStart, live, tensor});
  return *this;
}

Builder& Builder::armed(std::uint64_t live, std::uint64_t tensor) {
  define(EventType::fork, 0, 0, {kPid, 0, kStart, live, tensor});
  return *this;
}

Builder& Builder::note(const std::string& said) {
  return put(EventType::note, 0, 0, {text(said)});
}

Builder& Builder::rank(std::uint32_t rank, std::uint32_t world) {
  return put(EventType::job, 0, 0, {halves(text("job-1"), 1), halves(rank, rank), world});
}

std::string Builder::definitions() {
  return encode(definitions_, 0, Source::definitions, 0);
}

std::string Builder::segment(std::uint32_t thread, std::size_t first, std::size_t count, Source source) {
  const std::vector<RingRecord>& all = threads_[thread];
  const std::vector<RingRecord> part(
      all.begin() + static_cast<std::ptrdiff_t>(first),
      all.begin() + static_cast<std::ptrdiff_t>(std::min(first + count, all.size())));
  return encode(part, thread, source, first);
}

std::string Builder::bytes(std::size_t per_segment) {
  std::string out = definitions();
  bool more = true;
  for (std::size_t first = 0; more; first += per_segment) {
    more = false;
    for (const auto& [thread, records] : threads_) {
      if (first >= records.size()) continue;
      out += segment(thread, first, per_segment);
      more = true;
    }
  }
  return out;
}

} // namespace memtrace::tests
