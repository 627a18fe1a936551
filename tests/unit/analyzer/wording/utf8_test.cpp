// Purpose: any bytes become text that cannot control a terminal.
#include "analyzer/wording/utf8.h"

#include <gtest/gtest.h>

namespace memtrace::report {
namespace {

TEST(Utf8, CountsColumns) {
  EXPECT_EQ(shortened("abcdefghij", 7), "ab...ij");
  EXPECT_EQ(columns(shortened(std::string(50, 'a') + "\xc3\xbc", 9)), 9u);
}

TEST(Utf8, NoNameSteersATerminal) {
  EXPECT_EQ(printable("a\x1b[31m\nb\x7f"), "a?[31m?b?");
  EXPECT_EQ(printable("x\xe2\x80\xaegpj.exe"), "x\\u{202E}gpj.exe");
  EXPECT_EQ(printable("\xc2\x9b\xf3\xa0\x81\x81\xe2\x80\x8b"), "\\u{9B}\\u{E0041}\\u{200B}");
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"),
            "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(printable("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(printable("a\xe2\x82"), "a\xef\xbf\xbd\xef\xbf\xbd");
}

} // namespace
} // namespace memtrace::report
