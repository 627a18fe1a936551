// Purpose: the totals of a process that ended in an orderly way. It has no ring file, so it left them in notes.
#pragma once

#include "analyzer/trace/process_facts.h"

namespace memtrace::trace {

// A total without a note is 0. Notes are not trusted: what is not a number is left out.
format::LostBlocks noted_lost_blocks(const Facts& facts);
format::Pauses noted_pauses(const Facts& facts);

} // namespace memtrace::trace
