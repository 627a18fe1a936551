// Purpose: the stack of a block, and the module of a model that runs there.
// Runs: inside the program's malloc.
#pragma once

#include "preload/format/records.h"

namespace memtrace::record {

// The module is not a part of the stack: the layers of a model share their stacks.
struct CapturedStack {
  format::StackId stack; // 0: none, or not known
  format::TextId module; // the path of the innermost module that was called; 0: none is known
};

} // namespace memtrace::record
