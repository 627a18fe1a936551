// Purpose: mutations of fuzz inputs that are segments: of records as well as of bytes.
#include "segment_mutate.h"

#include <algorithm>
#include <random>

#include "segment_edit.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace memtrace::tests {
namespace {

using format::RingRecord;
using format::SegmentHeader;
using Random = std::minstd_rand;

std::size_t pick(Random& random, std::size_t count) {
  return count == 0 ? 0 : random() % count;
}

std::uint64_t figure(Random& random) {
  constexpr std::uint64_t kKnown[] = {0,          1,          2,          3,          8,
                                      0xFF,       0x100,      0x1000,     0x7FFFFFFF, 0xFFFFFFFF,
                                      1ull << 32, 1ull << 40, ~0ull >> 1, ~0ull - 1,  ~0ull};
  const std::size_t at = pick(random, std::size(kKnown) + 3);
  return at < std::size(kKnown) ? kKnown[at] : pick(random, 0x20000);
}

void mutate_record(RingRecord& record, Random& random) {
  switch (pick(random, 8)) {
    case 0:
      record.type = static_cast<std::uint8_t>(pick(random, format::kEventTypes));
      break;
    case 1:
      record.kind = static_cast<std::uint8_t>(random());
      break;
    case 2:
      record.flags = static_cast<std::uint16_t>(record.flags ^ 1u << pick(random, 16));
      break;
    case 3:
      record.stamp = pick(random, 2) != 0 ? record.stamp + figure(random) : figure(random);
      break;
    case 4: { // half of a word: ids lie there
      auto& word = *(record.payload.word + pick(random, format::kWords));
      const auto half = static_cast<std::uint32_t>(pick(random, 12));
      word = pick(random, 2) != 0 ? format::halves(half, format::high(word))
                                  : format::halves(format::low(word), half);
      break;
    }
    default:
      *(record.payload.word + pick(random, format::kWords)) = figure(random);
  }
}

void mutate_records(std::vector<RingRecord>& records, Random& random) {
  if (records.empty()) records.emplace_back();
  const std::size_t at = pick(random, records.size());
  switch (pick(random, 5)) {
    case 0: {
      RingRecord copy = records[pick(random, records.size())];
      mutate_record(copy, random);
      records.insert(records.begin() + static_cast<std::ptrdiff_t>(at), copy);
      break;
    }
    case 1:
      records.erase(records.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 2:
      std::swap(records[at], records[pick(random, records.size())]);
      break;
    default:
      mutate_record(records[at], random);
  }
}

void mutate_header(SegmentHeader& header, Random& random) {
  switch (pick(random, 8)) {
    case 0:
      header.source = static_cast<std::uint8_t>(pick(random, 6));
      break;
    case 1:
      header.flags = static_cast<std::uint8_t>(header.flags ^ 1u << pick(random, 8));
      break;
    case 2:
      header.thread = static_cast<std::uint32_t>(pick(random, 4));
      break;
    case 3:
      header.records = static_cast<std::uint32_t>(figure(random));
      break;
    case 4:
      header.first_sequence = figure(random);
      break;
    case 5:
      header.first_stamp = figure(random);
      break;
    case 6:
      header.types = figure(random);
      break;
    default:
      header.payload_bytes = static_cast<std::uint32_t>(figure(random));
  }
}

void mutate_payload(Piece& piece, Random& random) {
  bool whole = false;
  std::vector<RingRecord> records = decoded(piece.bytes, whole);
  if (!whole || pick(random, 4) == 0) {
    const std::size_t size = piece.bytes.size();
    piece.bytes.resize(size + 64);
    piece.bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(piece.bytes.data()), size, size + 64));
  } else {
    const bool all_said = piece.header.records == records.size();
    mutate_records(records, random);
    piece.bytes = encoded(records);
    if (all_said) piece.header.records = static_cast<std::uint32_t>(records.size());
    piece.header.types = ~std::uint64_t{0};
  }
  piece.header.payload_bytes = static_cast<std::uint32_t>(piece.bytes.size());
}

} // namespace

std::size_t mutate_segments(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  Random random(seed);
  std::vector<Piece> pieces = pieces_of({reinterpret_cast<const char*>(data), size});
  const std::size_t at = pick(random, pieces.size());
  if (pieces.empty() || !pieces[at].whole || pick(random, 6) == 0) return LLVMFuzzerMutate(data, size, most);
  const auto place = pieces.begin() + static_cast<std::ptrdiff_t>(at);
  switch (pick(random, 12)) {
    case 0:
      pieces.insert(place, Piece(pieces[pick(random, pieces.size())]));
      break;
    case 1:
      pieces.erase(place);
      break;
    case 2:
      std::swap(pieces[at], pieces[pick(random, pieces.size())]);
      break;
    case 3:
    case 4:
      mutate_header(pieces[at].header, random);
      break;
    default:
      mutate_payload(pieces[at], random);
  }
  const std::string out = joined(pieces);
  if (out.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::copy(out.begin(), out.end(), data);
  return out.size();
}

} // namespace memtrace::tests
