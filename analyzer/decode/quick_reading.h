// Purpose: chooses the stretches of a trace that --quick reads, by the headers of the segments and the highest
// levels that each stretch ends with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/decode/segment_file.h"

namespace memtrace::trace {

// How much of a trace the command reads.
enum class ReadExtent : std::uint8_t {
  all,
  quick, // the first stretch, the last one, and those with the highest levels
};
// Returns the extent of the command's reports: `all` until set_extent_of_command() changes it. The command sets
// it before it opens a trace.
ReadExtent extent_of_command();
void set_extent_of_command(ReadExtent extent);

struct ListedFile {
  const File* file;
  const SegmentIndex* index;
};

// The segments that --quick leaves out, for each file in the order given.
struct LeftOut {
  std::vector<std::vector<bool>> segments; // by the place in segments(); empty: all are read
  std::uint64_t records = 0;               // of threads
};

// `files`: the trace file, then its windows by number. A stretch whose highest levels are not known is read.
// Definitions are always read.
LeftOut choose_quickly(const std::vector<ListedFile>& files);

} // namespace memtrace::trace
