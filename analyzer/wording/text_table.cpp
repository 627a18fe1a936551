// Purpose: lays out a table of text in the width of a report.
#include "analyzer/wording/text_table.h"

#include <algorithm>
#include <utility>

#include "analyzer/wording/labels.h"
#include "analyzer/wording/text_wrap.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

constexpr std::size_t kLeastText = 12;    // the least columns of a text that is cut
constexpr std::size_t kBelow = 4;         // columns by which a text below its row is indented
constexpr std::size_t kMostUnbroken = 48; // a file's name that is longer breaks

std::string pad_left(const std::string& text, std::size_t width) {
  const std::size_t have = columns(text);
  return have < width ? std::string(width - have, ' ') + text : text;
}

} // namespace

Column Column::text(std::string title, std::size_t least, std::size_t most) {
  return {std::move(title), Align::left, least, most};
}

Column Column::number(std::string title, std::size_t least) {
  return {std::move(title), Align::right, least};
}

Column Column::source_line(std::string title) {
  Column out = rest(std::move(title));
  out.whole = out.source = true;
  return out;
}

Column Column::rest(std::string title) {
  return {std::move(title), Align::left, 0, kMostColumns, true};
}

Column Column::detail(std::string title) {
  return {std::move(title), Align::left, 0, kMostColumns, true, true};
}

Column Column::extra(std::string title, std::size_t least) {
  return {std::move(title), Align::right, least, kMostColumns, false, true};
}

// Returns the columns that a column takes with the blanks before it.
std::size_t Table::taken(const Widths& widths, std::size_t column) const {
  if (widths[column] == kLeftOut) return 0;
  const std::size_t gap = column == 0 ? 0 : columns_[column].align == Column::Align::left ? 2 : 1;
  return gap + widths[column];
}

std::size_t Table::whole(const Widths& widths) const {
  std::size_t out = indent_;
  for (std::size_t i = 0; i < widths.size(); ++i) out += taken(widths, i);
  return out;
}

// Returns the width that the head may have: up to the first titled column after the first.
std::size_t Table::under_head(const Widths& widths) const {
  std::size_t out = indent_ + widths.front();
  for (std::size_t i = 1; i < widths.size(); ++i) {
    if (widths[i] != kLeftOut && !columns_[i].title.empty()) break;
    out += taken(widths, i);
  }
  return out;
}

// Returns the width of the widest line of a column that wraps at `width`.
std::size_t Table::widest_part(std::size_t column, std::size_t width) const {
  std::size_t out = columns_[column].least;
  for (const TableLine& line : lines_)
    if (column < line.cells.size())
      for (const std::string& part : wrapped(line.cells[column], width)) out = std::max(out, columns(part));
  return out;
}

bool Table::has_source(std::size_t column) const {
  return std::any_of(lines_.begin(), lines_.end(), [column](const TableLine& line) {
    return column < line.cells.size() && source_columns(line.cells[column]) != 0;
  });
}

// Returns the least width of a column of texts. The first column leaves room for the head.
std::size_t Table::least(std::size_t column, const Widths& widths) const {
  std::size_t out = std::max(kLeastText, columns_[column].shrinks ? 0 : columns(columns_[column].title));
  for (const TableLine& line : lines_) {
    if (column >= line.cells.size()) continue;
    if (columns_[column].whole && columns_[column].optional) continue; // has room below its row
    const std::string& cell = line.cells[column];
    out = std::max(out,
                   std::min(columns_[column].source ? unbreakable(cell) : source_columns(cell), kMostUnbroken));
  }
  if (column != 0 || head_.empty()) return out;
  const std::size_t room = under_head(widths);
  return std::max(out, widths[0] - std::min(widths[0], room - std::min(room, columns(head_))));
}

// Makes texts narrower until the table fits: the last column first. `rest`: only columns that shrink; else only
// the other texts.
void Table::narrow(Widths& widths, std::size_t screen, bool rest) const {
  for (std::size_t i = widths.size(); i-- > 0 && whole(widths) > screen;) {
    const Column& column = columns_[i];
    if (column.shrinks != rest || column.align == Column::Align::right || widths[i] == kLeftOut) continue;
    widths[i] -= std::min(whole(widths) - screen, widths[i] - std::min(widths[i], least(i, widths)));
  }
}

// Makes the table narrower, step by step, until it fits the screen. Numbers are never cut, so it may stay
// wider.
void Table::fit(Widths& widths, std::size_t screen) const {
  Widths trial = widths;
  narrow(trial, screen, true);
  for (std::size_t i = widths.size(); i-- > 1 && whole(trial) > screen;) {
    if (!columns_[i].optional) continue;
    widths[i] = kLeftOut;
    trial = widths;
    narrow(trial, screen, true);
  }
  widths = trial;
  narrow(widths, screen, false);
  for (std::size_t i = widths.size(); i-- > 1 && whole(widths) > screen;)
    if (columns_[i].shrinks && !columns_[i].whole) widths[i] = kLeftOut;
}

Table::Widths Table::widths(const Lines& lines) const {
  Widths out;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = std::max(columns_[i].least, columns(columns_[i].title));
    for (const TableLine& line : lines_)
      if (i < line.cells.size()) width = std::max(width, columns(line.cells[i]));
    out.push_back(std::min(width, std::max(columns_[i].most, columns_[i].least)));
  }
  if (const std::size_t room = under_head(out), head = columns(head_); head > room) out.front() += head - room;
  Widths fitting = out;
  fit(fitting, lines.columns());
  // A text that breaks needs less than the width that made it break. Other columns have the rest.
  for (std::size_t i = 0; i < columns_.size(); ++i)
    if (columns_[i].whole && !columns_[i].optional && fitting[i] < out[i])
      out[i] = std::max(columns(columns_[i].title), widest_part(i, fitting[i]));
  fit(out, lines.columns());
  return out;
}

std::string Table::laid_out(const std::vector<std::string>& cells, const Widths& widths) const {
  std::string out(indent_, ' ');
  for (std::size_t i = 0; i < std::min(cells.size(), columns_.size()); ++i) {
    if (widths[i] == kLeftOut) continue;
    const std::string cell = cut(cells[i], widths[i]);
    out += std::string(taken(widths, i) - widths[i], ' ');
    out += columns_[i].align == Column::Align::left ? pad(cell, widths[i]) : pad_left(cell, widths[i]);
  }
  return out;
}

// Writes a row. A text that is to be whole and does not fit goes on in the next line of its column. That of an
// optional column has lines of its own below the row.
void Table::write_row(const std::vector<std::string>& cells, const Widths& widths, Lines& lines) const {
  std::vector<std::vector<std::string>> parts(cells.size());
  std::vector<std::string> below;
  std::size_t height = 1;
  for (std::size_t i = 0; i < std::min(cells.size(), columns_.size()); ++i) {
    const bool fits = widths[i] != kLeftOut && columns(cells[i]) <= widths[i];
    if (columns_[i].whole && columns_[i].optional && !fits) {
      below.push_back(cells[i]);
      continue;
    }
    parts[i] = columns_[i].whole && !fits ? wrapped(cells[i], widths[i]) : std::vector{cells[i]};
    height = std::max(height, parts[i].size());
  }
  for (std::size_t line = 0; line < height; ++line) {
    std::vector<std::string> row;
    row.reserve(parts.size());
    for (const std::vector<std::string>& part : parts) row.push_back(line < part.size() ? part[line] : "");
    lines.uncut(laid_out(row, widths));
  }
  for (const std::string& text : below) lines.paragraph(std::string(indent_ + kBelow, ' '), text);
}

void Table::write(Lines& lines) const {
  if (!lines.whole()) return write_rows(lines);
  Table uncut = *this;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    uncut.columns_[i].whole =
        columns_[i].align == Column::Align::left && (!columns_[i].optional || has_source(i));
  uncut.write_rows(lines);
}

void Table::write_rows(Lines& lines) const {
  const Widths wide = widths(lines);
  std::vector<std::string> titles;
  titles.reserve(columns_.size());
  for (const Column& column : columns_) titles.push_back(column.title);
  const bool titled =
      std::any_of(titles.begin(), titles.end(), [](const auto& title) { return !title.empty(); });
  if (!head_.empty() || titled) {
    // The head takes the place of the indent and of the first title.
    if (!head_.empty()) titles.front().clear();
    std::string header = laid_out(titles, wide);
    if (!head_.empty())
      header = pad(head_, under_head(wide)) + header.substr(std::min(under_head(wide), header.size()));
    lines.faint(header);
  }
  for (const TableLine& line : lines_)
    line.cells.empty() ? lines.plain(line.remark) : write_row(line.cells, wide, lines);
}

} // namespace memtrace::report
