// Purpose: breaks text into lines of limited width, and cuts text without cutting source lines.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace memtrace::report {

// Returns the text in lines of at most `width` columns. Breaks it at blanks. Breaks a longer word behind a '/',
// else behind a '.' or a '_', else at the width.
std::vector<std::string> wrapped(const std::string& text, std::size_t width);

// Returns the columns of the longest part of the text that wrapped() breaks only if it is wider than a line.
std::size_t unbreakable(const std::string& text);

// Returns the columns of the last "name.py:3" of the text, without folders; 0: there is none.
std::size_t source_columns(const std::string& text);

// Returns the text in at most `width` columns. Cuts out its middle. If it names a source line ("a/b.py:3") that
// fits, cuts what is around the file's name and the line instead.
std::string cut(const std::string& text, std::size_t width);

} // namespace memtrace::report
