// Purpose: the width and the colours of the terminal that shows a text report.
#include "analyzer/cli/common/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace memtrace::cli {

report::Screen screen_of(int descriptor) {
  report::Screen out;
  if (::isatty(descriptor) == 0) return out;
  out.color = std::getenv("NO_COLOR") == nullptr;
  struct winsize size {};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) // 0: the terminal does not know it
    out.columns = std::clamp<std::size_t>(size.ws_col, report::kFewestColumns, report::kMostColumns);
  return out;
}

report::Screen screen_of(const std::string& output) {
  return output.empty() ? screen_of(STDOUT_FILENO) : report::Screen{};
}

} // namespace memtrace::cli
