// Purpose: a ring file from a fuzz input, and a fuzz input from a ring file.
//
// A ring file has 16 KiB for each chunk, and a long ring 128. An input holds only what is in use: options, the
// slots that the header counts, the slots that follow, a length to cut; a RingFileHeader or Figures; then for
// each slot its index, a RingSlot, a count and that many records.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bytes.h"

namespace memtrace::tests {

std::string rings_from_input(Bytes input);

// Of the first slots in use, with their first records. Nothing if `file` is not a ring file.
std::optional<std::string> input_from_rings(std::string_view file);

} // namespace memtrace::tests
