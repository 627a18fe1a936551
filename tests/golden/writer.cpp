// Purpose: records -> the bytes of a trace.
#include "writer.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "preload/trace/record_encoder.h"

namespace memtrace::tests {

using format::halves;
using format::RingRecord;

namespace {

RingRecord record_of(EventType type, std::uint8_t kind, std::uint16_t flags, std::uint64_t stamp,
                     const std::vector<std::uint64_t>& words) {
  RingRecord record{};
  record.type = static_cast<std::uint8_t>(type);
  record.kind = kind;
  record.flags = flags;
  record.stamp = stamp;
  std::copy(words.begin(), words.end(), record.payload.word);
  return record;
}

std::string segment(const std::vector<RingRecord>& records, std::uint32_t thread, format::Source source,
                    std::uint64_t first) {
  std::vector<std::uint8_t> payload((records.size() + 1) * format::kMaxCoded);
  format::Model model;
  record::Encoder encoder(payload.data(), payload.size(), model);
  for (const RingRecord& record : records)
    if (!encoder.add(record)) throw std::logic_error("the encoder refused a record");
  const format::SegmentHeader header = encoder.header(Writer::kTraceId, thread, source, first);
  std::string out(reinterpret_cast<const char*>(&header), sizeof header);
  return out.append(reinterpret_cast<const char*>(payload.data()), encoder.bytes());
}

unsigned memory_of(const Writer::Block& block) {
  return block.flags >> format::kMemoryShift;
}

std::int64_t bytes_of(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

} // namespace

std::uint32_t Writer::text(const std::string& text) {
  const auto [at, fresh] = texts_.try_emplace(text, static_cast<std::uint32_t>(texts_.size() + 1));
  for (std::size_t done = 0; fresh && (done == 0 || done < text.size());) {
    const std::size_t here = std::min(text.size() - done, format::kTextChunk);
    std::vector<std::uint64_t> words(format::kWords);
    words[0] = at->second;
    std::memcpy(&words[1], text.data() + done, here);
    done += std::max<std::size_t>(here, 1);
    define(EventType::text, static_cast<std::uint16_t>(here | (done < text.size() ? format::kTextMore : 0)),
           words);
  }
  return at->second;
}

std::uint32_t Writer::python(const std::string& function, const std::string& file, std::uint32_t line,
                             std::uint32_t caller) {
  const std::uint32_t code = ++codes_;
  const std::uint32_t function_text = text(function), file_text = text(file);
  define(EventType::code, 0, {halves(code, line / 10 * 10), halves(function_text, file_text)});
  define(EventType::stack, format::kPythonFrame, {halves(++stacks_, caller), halves(code, line)});
  return stacks_;
}

std::uint32_t Writer::native(std::uint64_t address, std::uint32_t caller) {
  define(EventType::stack, 0, {halves(++stacks_, caller), address});
  return stacks_;
}

void Writer::define(EventType type, std::uint16_t flags, const std::vector<std::uint64_t>& words) {
  definitions_.push_back(record_of(type, 0, flags, kStart, words));
}

void Writer::put(std::uint32_t thread, EventType type, std::uint8_t kind, std::uint16_t flags,
                 const std::vector<std::uint64_t>& words) {
  open_[thread].push_back(record_of(type, kind, flags, stamp_ += 1000, words));
}

void Writer::count(const Block& block, std::int64_t sign) {
  const bool counted =
      block.kind != Kind::none && block.kind != Kind::mmap_file && !(block.flags & format::kNoAccess);
  if (counted) live[memory_of(block)].add(sign * bytes_of(block.given));
  if (block.flags & format::kTensor) tensor[memory_of(block)].add(sign * bytes_of(block.asked));
}

Writer::Block Writer::born(std::uint64_t asked, std::uint32_t stack, Kind kind, std::uint16_t flags,
                           std::uint32_t thread) {
  const std::uint64_t given = kind == Kind::heap ? asked + 40 : asked;
  const Block block{address_, given, asked, kind, flags};
  address_ += (given + 0xFFFFF) / 0x100000 * 0x100000;
  put(thread, EventType::birth, static_cast<std::uint8_t>(kind), flags,
      {block.address, given, asked, stack, 0, 0});
  count(block, 1);
  return block;
}

void Writer::died(const Block& block, std::uint32_t thread) {
  const bool mapping = block.kind == Kind::mmap_anon || block.kind == Kind::mmap_file;
  const auto flags =
      static_cast<std::uint16_t>((block.flags & ~format::kNoAccess) | (mapping ? format::kRange : 0));
  put(thread, EventType::death, static_cast<std::uint8_t>(block.kind), flags, {block.address, block.given});
  count(block, -1);
}

Writer::Block Writer::moved(const Block& block, std::uint64_t asked, std::uint32_t stack) {
  const Block to{address_, asked + 40, asked, block.kind, block.flags};
  address_ += 0x10000000;
  put(1, EventType::move, static_cast<std::uint8_t>(block.kind), block.flags,
      {block.address, to.address, to.given, to.asked, block.given, halves(stack, 500)});
  count(block, -1);
  count(to, 1);
  return to;
}

void Writer::opened(const Block& block) {
  put(1, EventType::protect, 0, 0, {block.address, block.given, 3});
  live[0].add(bytes_of(block.given));
}

void Writer::small(std::uint64_t allocated, std::uint64_t freed, std::uint32_t thread) {
  put(thread, EventType::counters, 0, 0, {allocated, freed, allocated / 64, freed / 64});
  live[0].add(bytes_of(allocated) - bytes_of(freed));
}

void Writer::begin(const std::string& phase) {
  put(1, EventType::phase_begin, 0, format::kAuto, {halves(text(phase), depth_++)});
}

void Writer::end(const std::string& phase) {
  put(1, EventType::phase_end, 0, format::kAuto, {halves(text(phase), --depth_)});
}

void Writer::cut(format::Source source) {
  for (const auto& [thread, records] : open_) {
    std::uint64_t& sequence = sequences_[{source, thread}];
    segments_ += segment(records, thread, source, sequence);
    sequence += records.size();
  }
  open_.clear();
}

std::string Writer::bytes() const {
  return segment(definitions_, 0, format::Source::definitions, 0) + segments_;
}

} // namespace memtrace::tests
