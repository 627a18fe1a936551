// Purpose: lays out lines of text of limited width, with optional colours.
#include "analyzer/wording/text_lines.h"

#include <algorithm>

#include "analyzer/wording/text_wrap.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {

void Lines::add(const char* style, const std::string& text) {
  put(style, cut(text, screen_.columns));
}

void Lines::put(const char* style, std::string line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
  const bool styled = screen_.color && *style != '\0' && !line.empty();
  out_ += styled ? style + line + "\x1b[0m" : line;
  out_ += '\n';
}

void Lines::wrap(const char* style, const std::string& first, const std::string& indent,
                 const std::string& text) {
  const std::size_t before = std::max(report::columns(first), report::columns(indent));
  const std::string* prefix = &first;
  for (const std::string& line : wrapped(text, screen_.columns - std::min(before, screen_.columns / 2))) {
    put(style, *prefix + line);
    prefix = &indent;
  }
}

void Lines::gap() {
  if (!out_.empty() && !out_.ends_with("\n\n")) out_ += '\n';
}

void Lines::strong(const std::string& text) {
  wrap("\x1b[1m", "", "", text);
}

void Lines::paragraph(const std::string& indent, const std::string& text) {
  wrap("", indent, indent, text);
}

void Lines::labelled(const std::string& label, const std::string& indent, const std::string& text) {
  wrap("", label, indent, text);
}

} // namespace memtrace::report
