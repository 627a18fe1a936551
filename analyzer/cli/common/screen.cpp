// Purpose: the width and the colours of the terminal that shows a text report.
#include "analyzer/cli/common/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace memtrace::cli {

namespace {

// Returns COLUMNS, or 0 if it is not set or not a number.
std::size_t columns_of_environment() {
  const char* const text = std::getenv("COLUMNS");
  std::size_t out = 0;
  if (text == nullptr || std::from_chars(text, text + std::strlen(text), out).ec != std::errc()) return 0;
  return out;
}

} // namespace

report::Screen screen_of(int descriptor) {
  report::Screen out;
  const bool terminal = ::isatty(descriptor) != 0;
  out.color = terminal && std::getenv("NO_COLOR") == nullptr;
  out.whole = !terminal;
  struct winsize size {};
  const bool known = terminal && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
  if (const std::size_t width = known ? size.ws_col : columns_of_environment(); width != 0)
    out.columns = std::clamp(width, report::kFewestColumns, report::kMostColumns);
  return out;
}

report::Screen screen_of(const std::string& output) {
  return screen_of(output.empty() ? STDOUT_FILENO : -1);
}

} // namespace memtrace::cli
