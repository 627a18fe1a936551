// Purpose: breaks text into lines of limited width, and cuts text without cutting source lines.
#include "analyzer/wording/text_wrap.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

// Returns the bytes of the first `width` columns.
std::size_t bytes_of_columns(std::string_view text, std::size_t width) {
  std::size_t at = 0;
  for (std::size_t column = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (begins && column++ == width) break;
  }
  return at;
}

// Adds the words of the text, with each word that is wider than a line in parts.
std::vector<std::string> words(std::string_view text, std::size_t width) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    std::string_view word = text.substr(at, end - at);
    while (columns(word) > width) {
      const std::size_t most = std::max<std::size_t>(bytes_of_columns(word, width), 1);
      const std::size_t slash = word.substr(0, most).rfind('/');
      const std::size_t end_of_name = word.substr(0, most).find_last_of("._");
      const std::size_t part = slash != std::string_view::npos         ? slash + 1
                               : end_of_name != std::string_view::npos ? end_of_name + 1
                                                                       : most;
      out.emplace_back(word.substr(0, part));
      word.remove_prefix(part);
    }
    out.emplace_back(word);
    at = end + 1;
  }
  return out;
}

struct SourcePart {
  std::size_t from = 0, to = 0; // bytes
};

// Returns the last "name.py:3" of the text, without its folders, or an empty part.
SourcePart source_line(std::string_view text) {
  for (std::size_t colon = text.rfind(':'); colon != std::string_view::npos && colon > 0;
       colon = text.rfind(':', colon - 1)) {
    std::size_t end = colon + 1;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    const std::size_t begin = text.find_last_of(" /", colon - 1) + 1; // npos + 1 is 0
    if (end > colon + 1 && begin < colon &&
        text.substr(begin, colon - begin).find('.') != std::string_view::npos)
      return {begin, end};
  }
  return {};
}

} // namespace

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> out;
  std::string line;
  for (const std::string& word : words(text, std::max<std::size_t>(width, 1))) {
    if (!line.empty() && columns(line) + 1 + columns(word) > width) {
      out.push_back(std::move(line));
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  if (!line.empty()) out.push_back(std::move(line));
  return out;
}

std::size_t unbreakable(const std::string& text) {
  std::size_t out = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" /", at), text.size() - 1) + 1;
    const std::string_view part = std::string_view(text).substr(at, end - at);
    out = std::max(out, columns(part) - (part.ends_with(' ') ? 1 : 0));
    at = end;
  }
  return out;
}

std::size_t source_columns(const std::string& text) {
  const SourcePart line = source_line(text);
  return columns(std::string_view(text).substr(line.from, line.to - line.from));
}

std::string cut(const std::string& text, std::size_t width) {
  if (columns(text) <= width) return text;
  const SourcePart line = source_line(text);
  if (line.to == 0 || source_columns(text) > width) return shortened(text, width);
  constexpr std::size_t kDots = 3;
  const std::string name = text.substr(line.from, line.to - line.from);
  const std::size_t taken = columns(name);
  const std::string after = text.substr(line.to);
  // What is before the name says what allocated; what is behind it, how many others there are.
  if (taken + columns(after) + kDots <= width) {
    const std::string before = text.substr(0, line.from);
    const std::size_t room = width - taken - columns(after) - kDots;
    return before.substr(0, bytes_of_columns(before, room)) + "..." + name + after;
  }
  return taken + kDots <= width ? "..." + name : name;
}

} // namespace memtrace::report
