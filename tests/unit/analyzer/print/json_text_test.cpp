// Purpose: tests the text of JSON: bytes that are not UTF-8.
#include "analyzer/print/json/json_text.h"

#include <gtest/gtest.h>

namespace memtrace::report {
namespace {

TEST(JsonText, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(json_text("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"),
            "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\"");
  EXPECT_EQ(json_text("\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
  EXPECT_EQ(json_text("a\xe2\x82"), "\"a\xef\xbf\xbd\"");
  EXPECT_EQ(json_text("x\xe2\x80\xaegpj"), "\"x\xe2\x80\xaegpj\"") << "JSON loses nothing";
  EXPECT_EQ(json_text({{"\xff", 1}}), "{\n  \"\xef\xbf\xbd\": 1\n}") << "names of members as well";
}

} // namespace
} // namespace memtrace::report
