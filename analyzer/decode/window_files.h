// Purpose: the windows beside a trace file, which have the events of later steps, by their number.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/decode/segment_file.h"

namespace memtrace::trace {

struct WindowFile {
  std::unique_ptr<File> file;
  std::unique_ptr<SegmentIndex> index;
  std::optional<std::uint32_t> number; // nullopt: its snapshot is damaged, so its place is unknown
};

// Returns the path of a trace without ".memtrace": the names of the files beside it begin with it.
std::string stem_of(const std::string& trace_path);

// Returns the number of a window from its snapshot. Returns nullopt if the snapshot does not say it.
std::optional<std::uint32_t> number_of(const WindowFile& window);

// Returns the files STEM.window-0 to -3 that exist, by number. Those without a number come last. Never throws a
// ReadError: a file that cannot be read is left out, and invalid bytes are damage of its index.
std::vector<WindowFile> find_windows(const std::string& stem, std::uint64_t trace_id,
                                     Verify verify = Verify::listed);

} // namespace memtrace::trace
