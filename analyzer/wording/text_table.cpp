// Purpose: lays out a table of text in the width of a report.
#include "analyzer/wording/text_table.h"

#include <algorithm>
#include <utility>

#include "analyzer/wording/labels.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

constexpr std::size_t kLeastText = 12; // the least columns of a text that is cut

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

// Makes texts narrower until the table fits: the last column first. `rest`: only columns that shrink; else only
// the other texts. The first column leaves room for the head.
void Table::narrow(Widths& widths, std::size_t screen, bool rest) const {
  for (std::size_t i = widths.size(); i-- > 0 && whole(widths) > screen;) {
    const Column& column = columns_[i];
    if (column.shrinks != rest || column.align == Column::Align::right || widths[i] == kLeftOut) continue;
    std::size_t least = std::max(kLeastText, rest ? 0 : columns(column.title));
    if (const std::size_t room = under_head(widths); i == 0 && !head_.empty())
      least = std::max(least, widths[i] - std::min(widths[i], room - std::min(room, columns(head_))));
    widths[i] -= std::min(whole(widths) - screen, widths[i] - std::min(widths[i], least));
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
    if (columns_[i].shrinks) widths[i] = kLeftOut;
}

Table::Widths Table::widths(std::size_t screen) const {
  Widths out;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = std::max(columns_[i].least, columns(columns_[i].title));
    for (const TableLine& line : lines_)
      if (i < line.cells.size()) width = std::max(width, columns(line.cells[i]));
    out.push_back(std::min(width, std::max(columns_[i].most, columns_[i].least)));
  }
  if (const std::size_t room = under_head(out), head = columns(head_); head > room) out.front() += head - room;
  fit(out, screen);
  return out;
}

std::string Table::laid_out(const std::vector<std::string>& cells, const Widths& widths) const {
  std::string out(indent_, ' ');
  for (std::size_t i = 0; i < std::min(cells.size(), columns_.size()); ++i) {
    if (widths[i] == kLeftOut) continue;
    const std::string cell = shortened(cells[i], widths[i]);
    out += std::string(taken(widths, i) - widths[i], ' ');
    out += columns_[i].align == Column::Align::left ? pad(cell, widths[i]) : pad_left(cell, widths[i]);
  }
  return out;
}

void Table::write(Lines& lines) const {
  const Widths wide = widths(lines.columns());
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
    lines.plain(line.cells.empty() ? line.remark : laid_out(line.cells, wide));
}

} // namespace memtrace::report
