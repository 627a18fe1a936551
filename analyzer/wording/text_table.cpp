// Purpose: lays out a table of text in the width of a report.
#include "analyzer/wording/text_table.h"

#include <algorithm>
#include <utility>

#include "analyzer/wording/labels.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

constexpr std::size_t kLeastRest = 12; // the least columns of a column that shrinks

std::string pad_left(const std::string& text, std::size_t width) {
  const std::size_t have = columns(text);
  return have < width ? std::string(width - have, ' ') + text : text;
}

} // namespace

Column Column::text(std::string title, std::size_t least, std::size_t most) {
  return {std::move(title), Align::left, least, most, false};
}

Column Column::number(std::string title, std::size_t least) {
  return {std::move(title), Align::right, least, kColumns, false};
}

Column Column::rest(std::string title) {
  return {std::move(title), Align::left, 0, kColumns, true};
}

std::size_t Table::gap(std::size_t column) const {
  if (column == 0) return 0;
  return columns_[column].align == Column::Align::left ? 2 : 1;
}

// Returns the width that the head may have: up to the first titled column after the first.
std::size_t Table::under_head(const std::vector<std::size_t>& widths) const {
  std::size_t out = indent_ + widths.front();
  for (std::size_t i = 1; i < widths.size() && columns_[i].title.empty(); ++i) out += gap(i) + widths[i];
  return out;
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> out;
  std::size_t all = indent_;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = std::max(columns_[i].least, columns(columns_[i].title));
    for (const TableLine& line : lines_)
      if (i < line.cells.size()) width = std::max(width, columns(line.cells[i]));
    width = std::min(width, std::max(columns_[i].most, columns_[i].least));
    out.push_back(width);
    all += gap(i) + width;
  }
  if (const std::size_t room = under_head(out), head = columns(head_); head > room) {
    out.front() += head - room;
    all += head - room;
  }
  for (std::size_t i = out.size(); i-- > 0 && all > kColumns;) {
    if (!columns_[i].shrinks) continue;
    const std::size_t given = std::min(all - kColumns, out[i] - std::min(out[i], kLeastRest));
    out[i] -= given;
    all -= given;
  }
  return out;
}

std::string Table::laid_out(const std::vector<std::string>& cells,
                            const std::vector<std::size_t>& widths) const {
  std::string out(indent_, ' ');
  for (std::size_t i = 0; i < std::min(cells.size(), columns_.size()); ++i) {
    const std::string cell = shortened(cells[i], widths[i]);
    out += std::string(gap(i), ' ');
    out += columns_[i].align == Column::Align::left ? pad(cell, widths[i]) : pad_left(cell, widths[i]);
  }
  return out;
}

void Table::write(Lines& lines) const {
  const std::vector<std::size_t> wide = widths();
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
