// Purpose: the windows beside a trace file, where the detail of later steps is, by their number.
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
  std::optional<std::uint32_t> number; // none: its snapshot is damaged, so nothing says where it belongs
};

// STEM.window-0 to -3, as far as they are there, by number, those without one last. Never throws a ReadError:
// what cannot be read is not there, and what makes no sense is damage of its index.
std::vector<WindowFile> find_windows(const std::string& stem, std::uint64_t trace_id);

} // namespace memtrace::trace
