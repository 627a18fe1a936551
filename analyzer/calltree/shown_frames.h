// Purpose: chooses the frames of a stack that tell a reader something, and names them in one line.
#pragma once

#include <string>
#include <vector>

#include "analyzer/symbols/symbolizer.h"

namespace memtrace::report {

// Returns the frames without those of allocators, of the interpreter and of PyTorch's dispatcher, innermost
// first. Of the operators of PyTorch that call each other, the one that the program called remains. Of the
// import of a library, its first module remains. At least one frame remains, unless there is none. The pointers
// are into `frames`.
std::vector<const symbols::SiteFrame*> shown_frames(const std::vector<symbols::SiteFrame>& frames);

// True for an operator of PyTorch, which function_text() names as the program calls it.
bool is_operator(const symbols::SiteFrame& frame);

// Returns "torch.linear" for an operator of PyTorch, else the function without its parameters. Printable, see
// utf8.h.
std::string function_text(const symbols::SiteFrame& frame);

// Names the places of frames as the reports do.
class PlaceNames {
 public:
  explicit PlaceNames(const trace::Facts& facts) : facts_(facts), libraries_(facts) {}

  // Returns "torch/nn/linear.py:134", "train.py:3", "libc.so.6" or "". Printable.
  std::string of(const symbols::SiteFrame& frame) const;

 private:
  const trace::Facts& facts_;
  const symbols::LibraryFolders libraries_;
};

} // namespace memtrace::report
