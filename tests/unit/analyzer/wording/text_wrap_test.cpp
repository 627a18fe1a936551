// Purpose: tests that long texts are broken where a reader expects it, and that a cut leaves source lines
// whole.
#include "analyzer/wording/text_wrap.h"

#include <gtest/gtest.h>

#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

using Wrapped = std::vector<std::string>;

TEST(TextWrap, BreaksAtBlanksThenBehindSlashes) {
  EXPECT_EQ(wrapped("one two three", 8), (Wrapped{"one two", "three"}));
  EXPECT_EQ(wrapped("a /home/u/project/train.py:31", 16), (Wrapped{"a", "/home/u/project/", "train.py:31"}));
  EXPECT_EQ(wrapped("", 8), Wrapped{});
}

TEST(TextWrap, BreaksNamesBetweenTheirParts) {
  EXPECT_EQ(wrapped("torch.cross_entropy_loss", 18), (Wrapped{"torch.cross_", "entropy_loss"}));
}

TEST(TextWrap, BreaksAWordWithoutAPlaceForItAtTheWidth) {
  EXPECT_EQ(wrapped("abcdefghij", 4), (Wrapped{"abcd", "efgh", "ij"}));
  EXPECT_EQ(wrapped("gr\xC3\xB6\xC3\x9F"
                    "e",
                    3),
            (Wrapped{"gr\xC3\xB6",
                     "\xC3\x9F"
                     "e"}))
      << "no character is split";
  EXPECT_EQ(wrapped("abc", 0).size(), 3u);
}

TEST(TextWrap, NoTextIsLost) {
  const std::string text = "torch.linear /l/python3/site-packages/torch/nn/modules/linear.py:134 +3 more";
  for (std::size_t width = 1; width < 90; ++width) {
    std::string joined, original = text;
    for (const std::string& line : wrapped(text, width)) {
      EXPECT_LE(columns(line), width);
      joined += line;
    }
    std::erase(joined, ' ');
    std::erase(original, ' ');
    EXPECT_EQ(joined, original) << width;
  }
}

TEST(TextWrap, MeasuresWhatDoesNotBreak) {
  EXPECT_EQ(unbreakable("torch.linear nn/modules/linear.py:134 +3 more"), 13u) << "linear.py:134";
  EXPECT_EQ(unbreakable("a/"), 2u);
  EXPECT_EQ(unbreakable(""), 0u);
}

TEST(TextWrap, ACutLeavesTheSourceLine) {
  const std::string text = "torch.nn.functional.linear torch/nn/modules/linear.py:134 +3 more";
  EXPECT_EQ(cut(text, 40), "torch.nn.functio...linear.py:134 +3 more");
  EXPECT_EQ(cut(text, 20), "...linear.py:134");
  EXPECT_EQ(cut(text, 13), "linear.py:134");
  EXPECT_EQ(cut(text, 100), text);
  EXPECT_EQ(cut("no source line is in here", 10), "no ...here") << "the middle";
  EXPECT_EQ(source_columns("at 12:30 o'clock"), 0u);
}

} // namespace
} // namespace memtrace::report
