// Purpose: tests the bytes of pickles: what Python's pickletools says of them.
#include "analyzer/export/torch/pickle_writer.h"

#include <gtest/gtest.h>

namespace memtrace::report {
namespace {

template <class Fill>
std::string pickled(Fill fill) {
  std::string out;
  const files::TakePart take = [&out](std::string_view part) { out += part; };
  PickleWriter writer(take);
  fill(writer);
  writer.finish();
  return out;
}

std::string pickled_number(std::uint64_t value) {
  return pickled([value](PickleWriter& writer) { writer.number(value); });
}

TEST(PickleWriter, NumbersTakeTheFormOfTheirSize) {
  using namespace std::string_literals;
  EXPECT_EQ(pickled_number(0), "\x80\x02K\0."s);
  EXPECT_EQ(pickled_number(255), "\x80\x02K\xff."s);
  EXPECT_EQ(pickled_number(256), "\x80\x02M\0\1."s);
  EXPECT_EQ(pickled_number(65536), "\x80\x02J\0\0\1\0."s);
  EXPECT_EQ(pickled_number((1u << 31) - 1), "\x80\x02J\xff\xff\xff\x7f."s);
  EXPECT_EQ(pickled_number(1u << 31), "\x80\x02\x8a\x08\0\0\0\x80\0\0\0\0."s);
  EXPECT_EQ(pickled_number(~std::uint64_t{0}), "\x80\x02\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\0."s)
      << "not -1";
}

TEST(PickleWriter, AnEqualTextIsWrittenOnce) {
  using namespace std::string_literals;
  EXPECT_EQ(pickled([](PickleWriter& writer) {
              writer.begin_list();
              writer.text("ab");
              writer.text("ab");
              writer.end_list();
            }),
            "\x80\x02](X\2\0\0\0abr\0\0\0\0j\0\0\0\0e."s);
}

} // namespace
} // namespace memtrace::report
