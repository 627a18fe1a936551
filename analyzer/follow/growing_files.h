// Purpose: the files of a trace whose process runs, each read on from where the last reading ended.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/decode/ring_reader.h"
#include "analyzer/decode/segment_file.h"
#include "analyzer/decode/window_files.h"

namespace memtrace::trace {

// The trace file, its windows and its ring file. It only reads files at offsets, so the process does not notice
// it.
//
// If there are windows at the first reading, it begins with the last but one, whose snapshot has the state at
// that time. The trace file is given in any case, because it has the definitions.
class GrowingFiles {
 public:
  // `window`: the number of the segment's window; 0: it is in the trace file.
  using Take = std::function<void(const File& file, const Segment& segment, std::uint32_t window)>;

  // Throws ReadError if nothing of the trace can be read.
  GrowingFiles(const std::string& path, files::Origin origin);

  const std::string& path() const { return file_.path(); }
  // Gives the segments that were appended since: those of the trace file, then those of each window, the oldest
  // window first. A torn segment is given when it is whole. The file and the segment are valid until the next
  // call. Read the rings before it: records that are drained in between are then in both, and never in neither.
  void read_on(const Take& take);
  // The next read_on() gives all segments again, from the same window on.
  void begin_again();
  std::uint32_t first_window() const { return first_window_; } // 0: it began with the trace file

  // Sets the path of the ring file. At first, it is that beside the trace.
  void rings_are_at(const std::string& path) { rings_path_ = path; }
  std::optional<Rings> rings() const { return read_rings(rings_path_, index_.trace_id()).rings; }
  std::optional<format::RingFileHeader> ring_header() const {
    return read_ring_header(rings_path_, index_.trace_id());
  }

 private:
  struct GrowingWindow {
    std::uint64_t inode = 0;
    std::size_t given = 0; // segments
    WindowFile of;
  };
  void find_window(std::uint32_t place);
  std::vector<GrowingWindow*> windows_in_order();

  File file_;
  SegmentIndex index_;
  std::size_t given_ = 0; // segments of `file_`
  std::string stem_;
  std::string rings_path_;
  std::map<std::uint32_t, GrowingWindow> windows_; // by the number in the name of the file
  std::uint32_t first_window_ = 0;
  bool begun_ = false; // the first reading was made
};

} // namespace memtrace::trace
