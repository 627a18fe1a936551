// Purpose: lays out lines of text of limited width, with optional colours.
#pragma once

#include <cstddef>
#include <string>

namespace memtrace::report {

// Where a text report is shown. By default without colours, as in a file or a pipe.
struct Screen {
  bool color = false;
  std::size_t columns = 100;
  bool whole = false; // a text that is wider than its column of a table is wrapped, not cut
};
inline constexpr std::size_t kFewestColumns = 60;
inline constexpr std::size_t kMostColumns = 200;

// Collects lines of at most as many columns as the screen has. The given text must be printable, see utf8.h.
// Only uncut() writes a longer line, because a terminal wraps it, too.
class Lines {
 public:
  explicit Lines(const Screen& screen) : screen_(screen) {}
  std::size_t columns() const { return screen_.columns; }
  bool whole() const { return screen_.whole; }

  void gap(); // an empty line, unless the last one is empty
  void plain(const std::string& text) { add("", text); }
  void uncut(std::string text) { put("", std::move(text)); } // a row of a table with a source line
  void strong(const std::string& text);                      // wrapped, because a cause must not be cut off
  void faint(const std::string& text) { add("\x1b[2m", text); }
  void own_code(const std::string& text) { add("\x1b[1m", text); }    // a line of the user's own code
  void paragraph(const std::string& indent, const std::string& text); // wrapped at words
  // As paragraph, with `label` in the place of the first line's indent. `indent` is as wide.
  void labelled(const std::string& label, const std::string& indent, const std::string& text);
  std::string take() { return std::move(out_); }

 private:
  void add(const char* style, const std::string& text);
  void put(const char* style, std::string line);
  void wrap(const char* style, const std::string& first, const std::string& indent, const std::string& text);

  Screen screen_;
  std::string out_;
};

} // namespace memtrace::report
