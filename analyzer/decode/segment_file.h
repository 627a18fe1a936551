// Purpose: lists the segments of one trace file that are whole, and the damage between them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/decode/progress.h"
#include "analyzer/files/reading.h"
#include "preload/format/file_headers.h"

namespace memtrace::trace {

// A file that is open for reading at offsets while the trace is read. The analyzer has it open, not the traced
// process.
class File {
 public:
  // Throws ReadError if the file cannot be opened.
  File(const std::string& path, files::Origin origin);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const;
  // Returns the offset of the next bytes that are not in a hole of the file. Returns size() if there are none.
  std::uint64_t next_data(std::uint64_t offset) const;
  // Returns the number of bytes read. It is less than `bytes` at the end of the file or after a disk error.
  std::size_t read(std::uint64_t offset, void* out, std::size_t bytes) const;

 private:
  std::string path_;
  int descriptor_;
};

struct Segment {
  std::uint64_t offset = 0; // of the header
  format::SegmentHeader header{};
  bool after_left_out = false; // segments of threads before it were left out
};

// When the checksums of the payloads are verified.
enum class Verify : std::uint8_t {
  listed, // as the segments are listed
  kept,   // by keep(), which must be called once. Until then, only keyframes are verified
};

// True if a segment of this source belongs to its place in the file. All others are read whatever is left out.
inline bool is_of_stretch(format::Source source) {
  return source != format::Source::definitions && source != format::Source::cold;
}

// True if the segment has a record of this type.
inline bool has_type(const format::SegmentHeader& header, format::EventType type) {
  return (header.types >> static_cast<unsigned>(type) & 1) != 0;
}

struct Damage {
  std::uint64_t bytes = 0;        // of the file, outside of whole segments
  std::uint64_t first_offset = 0; // where the first of them is
  std::uint64_t torn_records = 0; // by the header of a torn last segment
};

// The segments of a version that this memtrace does not know, because a newer memtrace wrote them.
struct NewerSegments {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;   // with their headers
  std::uint16_t version = 0; // the highest
};

// The segments in the order of the file. The checksum of each is verified, see Verify, so a later read only
// needs to check bounds. Memory: one header for each segment.
class SegmentIndex {
 public:
  // Throws ReadError if the file is empty, is not a trace, or has no whole segment of a known version.
  explicit SegmentIndex(const File& file, Progress* progress = nullptr, Verify verify = Verify::listed);
  // For a file beside a trace. Only segments of `trace_id` count as whole, and a file without them is not an
  // error.
  SegmentIndex(const File& file, std::uint64_t trace_id, Verify verify = Verify::listed);

  // Lists the segments that were appended since. If a torn tail has become whole, it is not damage any more.
  void extend();

  // Removes the segments that `left_out` has, by place, and verifies all others. Empty: none are left out.
  void keep(const std::vector<bool>& left_out);

  // True if the last segments that were listed are left out.
  bool ends_left_out() const { return ends_left_out_; }
  const std::vector<Segment>& segments() const { return segments_; }
  const Damage& damage() const { return damage_; }
  // True if a whole segment follows damage. If not, all damage is a torn tail, as a kill leaves it.
  bool damaged_inside() const { return damage_before_tail_.bytes != 0; }
  const NewerSegments& newer() const { return newer_; }
  // Returns the version of memtrace that wrote the file: "0.1.0". Returns "" if the file does not say it.
  const std::string& writer() const { return writer_; }
  // Returns the segment that says it, which is not one of segments().
  const std::optional<Segment>& writer_segment() const { return writer_segment_; }
  std::uint64_t trace_id() const { return trace_id_; }
  std::uint64_t bytes() const { return size_; } // of the file when it was last listed

 private:
  bool whole(std::uint64_t offset, format::SegmentHeader& header);
  bool read_payload(const Segment& segment);
  bool holds(const format::SegmentHeader& header);
  void take(const Segment& segment);
  std::uint64_t find_magic(std::uint64_t from) const;
  void lost(std::uint64_t from, std::uint64_t to);
  void note_torn(std::uint64_t offset);
  [[noreturn]] void refuse() const;
  [[noreturn]] void refuse_version(std::uint16_t found) const;

  const File& file_;
  Progress* progress_ = nullptr;
  Verify verify_ = Verify::listed;
  bool ends_left_out_ = false;
  std::uint64_t size_ = 0;
  std::uint64_t next_ = 0; // listed up to here
  std::uint64_t trace_id_ = 0;
  std::uint64_t checked_in_vain_ = 0; // bytes of payloads with a wrong checksum
  std::vector<Segment> segments_;
  Damage damage_;
  Damage damage_before_tail_;
  NewerSegments newer_;
  std::string writer_;
  std::optional<Segment> writer_segment_;
  std::vector<std::uint8_t> buffer_;
};

} // namespace memtrace::trace
