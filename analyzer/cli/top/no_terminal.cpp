// Purpose: the terminal of `memtrace top` in a build without ncurses: there is none.
#include "analyzer/cli/top/terminal.h"

namespace memtrace::cli {

std::unique_ptr<Terminal> Terminal::open(std::string& why) {
  why = "this build of memtrace has no ncurses";
  return nullptr;
}

} // namespace memtrace::cli
