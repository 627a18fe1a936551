// Purpose: tests how a table aligns its cells, cuts them, and stays within the width of a report.
#include "analyzer/wording/text_table.h"

#include <gtest/gtest.h>

#include <sstream>

#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

std::string written(const Table& table, Screen screen = {}) {
  Lines lines(screen);
  table.write(lines);
  return lines.take();
}

TEST(TextTable, AlignsTextsLeftAndNumbersRight) {
  Table table(2, {Column::text("role"), Column::number("MiB", 6), Column::rest("site")});
  table.row({"parameter", "1.00", "train.py:7"});
  table.row({"heap", "1234567.00", "-"});
  EXPECT_EQ(written(table),
            "  role             MiB  site\n"
            "  parameter       1.00  train.py:7\n"
            "  heap      1234567.00  -\n");
}

TEST(TextTable, HasNoHeaderWithoutTitles) {
  Table table(0, {Column::text("", 4), Column::number("", 3)});
  table.row({"a", "1"});
  EXPECT_EQ(written(table), "a      1\n");
}

TEST(TextTable, WithoutRowsIsItsHeader) {
  EXPECT_EQ(written(Table(1, {Column::text("phase", 8), Column::number("MiB", 9)})), " phase          MiB\n");
  EXPECT_EQ(written(Table(1, {Column::text(""), Column::number("", 9)})), "");
}

TEST(TextTable, HeadBeginsAtTheStartOfTheLine) {
  Table table(2, {Column::text("", 4), Column::number("MiB", 5)});
  table.head("held at death");
  table.row({"heap", "1.00"});
  EXPECT_EQ(written(table),
            "held at death   MiB\n"
            "  heap         1.00\n");
}

TEST(TextTable, CountsColumnsOfTheTerminalNotBytes) {
  Table table(0, {Column::text("name", 0, 8), Column::number("MiB", 4)});
  table.row({"größe", "1"});
  table.row({"größenänderung", "2"}); // 14 columns, 17 bytes
  EXPECT_EQ(written(table),
            "name      MiB\n"
            "größe       1\n"
            "gr...ung    2\n");
  Table narrow(0, {Column::text("n"), Column::number("MiB", 4)});
  narrow.row({"größe", "1"});
  EXPECT_EQ(written(narrow),
            "n      MiB\n"
            "größe    1\n");
}

TEST(TextTable, LeavesOutCellsAndWritesRemarksBetweenRows) {
  Table table(0, {Column::text("", 3), Column::number("", 4), Column::rest("")});
  table.row({"a", "1", "first"});
  table.remark("  a remark that is wider than the first column");
  table.row({"sum", "1"});
  EXPECT_EQ(written(table),
            "a      1  first\n"
            "  a remark that is wider than the first column\n"
            "sum    1\n");
}

// Returns the columns of each line.
std::vector<std::size_t> widths(const std::string& text) {
  std::vector<std::size_t> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(columns(line));
  return out;
}

TEST(TextTable, ShrinksToTheWidthOfAReport) {
  Table table(2, {Column::text("role", 0, 16), Column::number("MiB", 9), Column::rest("site")});
  table.row({"optimizer_state_of_a_long_name", "1.00", std::string(99, 'x') + ".py:7"});
  const std::string text = written(table);
  EXPECT_EQ(widths(text).back(), Screen{}.columns) << text;
  EXPECT_NE(text.find("optimi...ng_name      1.00  xxx"), std::string::npos) << text;
  EXPECT_NE(text.find("x...x"), std::string::npos) << text;
  EXPECT_EQ(text.substr(text.size() - 6), ".py:7\n");
}

TEST(TextTable, KeepsTheWidthOfARowThatFitsExactly) {
  Table table(2, {Column::number("MiB", 9), Column::rest("site")});
  table.row({"1.00", std::string(Screen{}.columns - 13, 'x')});
  EXPECT_EQ(written(table).find("..."), std::string::npos);
  EXPECT_EQ(widths(written(table)).back(), Screen{}.columns);
}

TEST(TextTable, StaysInTheWidthEvenIfNothingShrinks) {
  Table table(2, {Column::text(""), Column::text(""), Column::number("", 9), Column::rest("")});
  table.row({std::string(70, 'a'), std::string(70, 'b'), "1.00", std::string(40, 'c')});
  EXPECT_EQ(widths(written(table)), std::vector<std::size_t>{Screen{}.columns});
}

// The columns give way one after the other, and no number is cut.
TEST(TextTable, OnANarrowScreenLeavesOutColumns) {
  Table table(2, {Column::text("phase", 8, 28), Column::extra("kept", 9), Column::number("peak", 9),
                  Column::rest("your line"), Column::rest("allocated by")});
  table.row({"forward of the second half", "1234.00", "2345.00", "a/long/path/train.py:17", "torch.linear"});
  const auto at = [&table](std::size_t columns) { return written(table, {.columns = columns}); };
  EXPECT_EQ(at(100).find("..."), std::string::npos);
  EXPECT_NE(at(80).find("1234.00"), std::string::npos) << "narrower texts are enough";
  EXPECT_NE(at(80).find("..."), std::string::npos);
  EXPECT_EQ(at(70).find("kept"), std::string::npos) << "the optional column is left out";
  EXPECT_NE(at(70).find("forward of the second half"), std::string::npos);
  EXPECT_NE(at(60).find("forward ...cond half"), std::string::npos) << at(60);
  EXPECT_NE(at(40).find("2345.00"), std::string::npos);
  EXPECT_EQ(at(40).find("allocated by"), std::string::npos);
  for (const std::size_t columns : {100, 80, 70, 60, 40})
    for (const std::size_t width : widths(at(columns))) EXPECT_LE(width, columns) << at(columns);
}

TEST(TextTable, OnlyTheHeaderIsFaint) {
  Table table(0, {Column::text("phase")});
  table.row({"load"});
  EXPECT_EQ(written(table, {.color = true}), "\x1b[2mphase\x1b[0m\nload\n");
}

Table of_lines() {
  Table table(2, {Column::text("", 4, 16), Column::number("MiB", 9), Column::source_line("your line"),
                  Column::detail("allocated by")});
  table.row({"activation", "624.00", "project/models/gpt_logits_leak.py:17",
             "torch.nn.functional.linear torch/nn/modules/linear.py:134 +3 more"});
  return table;
}

TEST(TextTable, AUsersLineWrapsWhereOtherTextsAreCut) {
  EXPECT_EQ(written(of_lines(), {.columns = 72}),
            "                   MiB  your line              allocated by\n"
            "  activation    624.00  project/models/        t...linear.py:134 +3 more\n"
            "                        gpt_logits_leak.py:17\n");
}

TEST(TextTable, OnAScreenOfWholeTextsWhatDoesNotFitIsBelowItsRow) {
  Table table = of_lines();
  table.row({"parameter", "20.18", "gpt.py:5", "torch.empty"});
  EXPECT_EQ(written(table, {.columns = 64, .whole = true}),
            "                   MiB  your line              allocated by\n"
            "  activation    624.00  project/models/\n"
            "                        gpt_logits_leak.py:17\n"
            "      torch.nn.functional.linear torch/nn/modules/linear.py:134\n"
            "      +3 more\n"
            "  parameter      20.18  gpt.py:5               torch.empty\n");
}

} // namespace
} // namespace memtrace::report
