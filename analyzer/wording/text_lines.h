// Purpose: lays out lines of text of limited width, with optional colours.
#pragma once

#include <cstddef>
#include <string>

namespace memtrace::report {

inline constexpr std::size_t kColumns = 100; // the width of a text report

// Collects lines of at most kColumns columns. The given text must be printable, see utf8.h.
class Lines {
 public:
  explicit Lines(bool color) : color_(color) {}

  void gap(); // an empty line, unless the last one is empty
  void plain(const std::string& text) { add("", text); }
  void strong(const std::string& text); // wrapped, because a cause must not be cut off
  void faint(const std::string& text) { add("\x1b[2m", text); }
  void paragraph(const std::string& indent, const std::string& text); // wrapped at words
  // As paragraph, with `label` in the place of the first line's indent. `indent` is as wide.
  void labelled(const std::string& label, const std::string& indent, const std::string& text);
  std::string take() { return std::move(out_); }

 private:
  void add(const char* style, const std::string& text);
  void wrap(const char* style, std::string first, const std::string& indent, const std::string& text);

  bool color_;
  std::string out_;
};

} // namespace memtrace::report
