// Purpose: lays out lines of text of limited width, with optional colours.
#include "analyzer/wording/text_lines.h"

#include "analyzer/wording/utf8.h"

namespace memtrace::report {

void Lines::add(const char* style, const std::string& text) {
  std::string line = shortened(text, screen_.columns);
  while (!line.empty() && line.back() == ' ') line.pop_back();
  const bool styled = screen_.color && *style != '\0' && !line.empty();
  out_ += styled ? style + line + "\x1b[0m" : line;
  out_ += '\n';
}

void Lines::wrap(const char* style, std::string first, const std::string& indent, const std::string& text) {
  std::string line;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!line.empty() && report::columns(first + line) + 1 + report::columns(word) > screen_.columns) {
      add(style, first + line);
      first = indent;
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    at = end + 1;
  }
  if (!line.empty()) add(style, first + line);
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
