// Purpose: lays out a table of text in the width of a report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

// A column of a table. Its width is that of its widest cell, within these limits.
struct Column {
  enum class Align : std::uint8_t { left, right };

  std::string title;
  Align align = Align::left;
  std::size_t least = 0;           // columns of the terminal
  std::size_t most = kMostColumns; // the middle of a wider cell is cut out
  bool shrinks = false;            // becomes narrower if the table is too wide; the last column first
  bool optional = false;           // left out if the table is still too wide; the last column first
  bool whole = false;  // wrapped where it does not fit, or written below the row, and never left out
  bool source = false; // texts break between words and folders only

  // A left-aligned column of texts.
  static Column text(std::string title, std::size_t least = 0, std::size_t most = kMostColumns);
  // A right-aligned column of numbers. No number is cut.
  static Column number(std::string title, std::size_t least);
  // A left-aligned column of source lines: it shrinks, and its texts are never cut. No line in it breaks that
  // can stay whole.
  static Column source_line(std::string title);
  // A left-aligned column that shrinks.
  static Column rest(std::string title);
  // A left-aligned column that shrinks, and that a narrow table leaves out.
  static Column detail(std::string title);
  // A right-aligned column of numbers that a narrow table leaves out.
  static Column extra(std::string title, std::size_t least);
};

// Collects the rows of a table, then writes them as lines that fit the screen. Where a table is too wide, the
// columns that shrink become narrower, then optional columns are left out, then wide texts are cut, then the
// columns that shrink are left out, too. Texts of `whole` columns wrap instead. If the screen wants whole
// texts, so do those of the columns that are not optional, and those of optional columns with source lines
// stand below their row. The cells must be printable, see utf8.h. Two blanks precede a text and one blank
// precedes a number.
class Table {
 public:
  Table(std::size_t indent, std::vector<Column> columns) : indent_(indent), columns_(std::move(columns)) {}

  // Begins the header with `text` at the start of the line. It extends over columns without a title. If they
  // are too narrow, the first column becomes wider.
  void head(std::string text) { head_ = std::move(text); }
  // Adds a row. Cells that are left out at its end are empty.
  void row(std::vector<std::string> cells) { lines_.push_back({std::move(cells), ""}); }
  // Adds a line of text between the rows.
  void remark(std::string text) { lines_.push_back({{}, std::move(text)}); }
  // Writes the titles as a faint line, then the rows. If no column has a title, writes the rows alone.
  void write(Lines& lines) const;

 private:
  struct TableLine {
    std::vector<std::string> cells;
    std::string remark; // if the line has no cells
  };

  using Widths = std::vector<std::size_t>; // of each column; kLeftOut: it is left out
  static constexpr std::size_t kLeftOut = ~std::size_t{0};

  std::size_t under_head(const Widths& widths) const;
  Widths widths(const Lines& lines) const;
  bool has_source(std::size_t column) const; // True if a cell names a source line.
  std::size_t widest_part(std::size_t column, std::size_t width) const;
  std::size_t least(std::size_t column, const Widths& widths) const;
  void narrow(Widths& widths, std::size_t screen, bool rest) const;
  void fit(Widths& widths, std::size_t screen) const;
  std::size_t whole(const Widths& widths) const;
  std::size_t taken(const Widths& widths, std::size_t column) const;
  std::string laid_out(const std::vector<std::string>& cells, const Widths& widths) const;
  void write_rows(Lines& lines) const;
  void write_row(const std::vector<std::string>& cells, const Widths& widths, Lines& lines) const;

  std::size_t indent_;
  std::vector<Column> columns_;
  std::string head_;
  std::vector<TableLine> lines_;
};

} // namespace memtrace::report
