// Purpose: the site of Python's arenas.
#include "analyzer/findings/process/arena_site.h"

namespace memtrace::report {

bool is_arena(const symbols::Site& site) {
  for (const symbols::SiteFrame& frame : site.frames) {
    if (frame.python) return false;
    if (frame.function.find("Arena") != std::string::npos || frame.function.find("arena") != std::string::npos)
      return true;
  }
  return false;
}

} // namespace memtrace::report
