// Purpose: one trace file -> the list of its segments that are whole, and what lies between them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/decode/progress.h"
#include "analyzer/files/reading.h"
#include "preload/format/file_headers.h"

namespace memtrace::trace {

// A file opened for reading at offsets. Held open while the trace is read: a reader, not the traced process.
class File {
 public:
  // Throws ReadError when it cannot be opened.
  File(const std::string& path, files::Origin origin);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const;
  // Where the next bytes are that are no hole of the file; size() if there are none.
  std::uint64_t next_data(std::uint64_t offset) const;
  // Bytes read, fewer than asked at the end of the file or on an error of the disk.
  std::size_t read(std::uint64_t offset, void* out, std::size_t bytes) const;

 private:
  std::string path_;
  int descriptor_;
};

struct Segment {
  std::uint64_t offset = 0; // of the header
  format::SegmentHeader header{};
};

struct Damage {
  std::uint64_t bytes = 0;        // of the file that belong to no whole segment
  std::uint64_t first_offset = 0; // where the first of them is
  std::uint64_t torn_records = 0; // that the header of a torn last segment promised
};

// Segments in the order of the file. The checksum of each is verified while it is listed, so that a later
// read has only bounds to fear. Memory: one header for each segment.
class SegmentIndex {
 public:
  // Throws ReadError when the file is empty, foreign, of another version, or has no whole segment.
  explicit SegmentIndex(const File& file, Progress* progress = nullptr);
  // Of a file beside a trace: only segments of `trace_id` are whole, and having none is no fault.
  SegmentIndex(const File& file, std::uint64_t trace_id);

  // Lists what was appended since. A torn tail that has become whole is no damage any more.
  void extend();

  const std::vector<Segment>& segments() const { return segments_; }
  const Damage& damage() const { return damage_; }
  std::uint64_t trace_id() const { return trace_id_; }
  std::uint64_t bytes() const { return size_; } // of the file when it was last listed

 private:
  bool whole(std::uint64_t offset, format::SegmentHeader& header);
  std::uint64_t find_magic(std::uint64_t from) const;
  void lost(std::uint64_t from, std::uint64_t to);
  void note_torn(std::uint64_t offset);
  [[noreturn]] void refuse() const;

  const File& file_;
  Progress* progress_ = nullptr;
  std::uint64_t size_ = 0;
  std::uint64_t next_ = 0; // listed up to here
  std::uint64_t trace_id_ = 0;
  std::uint64_t checked_in_vain_ = 0; // bytes
  std::vector<Segment> segments_;
  Damage damage_;
  Damage damage_before_tail_;
  std::vector<std::uint8_t> buffer_;
};

} // namespace memtrace::trace
