// Purpose: names of native code in a file beside the trace.
#include "analyzer/symbols/stored_names.h"

#include <gtest/gtest.h>

#include "analyzer/symbols/symbolizer.h"
#include "analyzer/trace/trace.h"
#include "builder.h"

namespace memtrace::symbols {
namespace {

StoredNames two_addresses() {
  StoredNames names;
  names.natives[0x1010] = {{"inner()", "a.cpp", 3}, {"outer()", "a.cpp", 9}};
  names.natives[0x1020] = {{"", "", 0}};
  names.compiled[{"/tmp/ab/c.py", 4}] = "mul_sigmoid";
  return names;
}

TEST(NamesOfATrace, AreReadAsTheyWereWritten) {
  tests::Scratch scratch;
  tests::write_file(scratch.file("t.symbols"), text_of(two_addresses()) + "{\"torn");
  EXPECT_EQ(names_file_of(scratch.file("t.memtrace")), scratch.file("t.symbols"));
  const auto read = load_names(scratch.file("t.symbols"));
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->at(0x1010)->size(), 2u);
  EXPECT_EQ(read->at(0x1010)->front().function, "inner()");
  EXPECT_EQ(read->at(0x1010)->back().line, 9u);
  EXPECT_EQ(read->at(0x1030), nullptr);
  EXPECT_EQ(read->filled_by("/tmp/ab/c.py", 4), "mul_sigmoid");
  EXPECT_EQ(text_of(*read), text_of(two_addresses()));
  tests::write_file(scratch.file("other"), "{\"schema\": \"memtrace.evidence/1\"}\n");
  EXPECT_FALSE(load_names(scratch.file("other")).has_value());
  EXPECT_FALSE(load_names(scratch.file("none")).has_value());
}

TEST(NamesOfATrace, AreUsedInPlaceOfTheLibraries) {
  tests::Scratch scratch;
  tests::Builder builder;
  builder.module("/gone/libgone.so", 0x1000, 0x1000, 16, {});
  const std::uint32_t stack =
      builder.native_frame(0x1010, builder.native_frame(0x1020, builder.native_frame(0x1030, 0)));
  builder.birth(0x100000, 8192, format::Kind::heap, 0, stack);
  tests::write_file(scratch.file("t.memtrace"), builder.bytes());
  const trace::Trace trace(scratch.file("t.memtrace"));
  Symbolizer symbolizer(trace.definitions(), trace.facts(), two_addresses());
  const Site& site = symbolizer.site(format::StackId{stack});
  ASSERT_EQ(site.frames.size(), 4u);
  EXPECT_EQ(site.frames[0].function, "inner()");
  EXPECT_TRUE(site.frames[0].inlined);
  EXPECT_EQ(site.frames[1].function, "outer()");
  EXPECT_FALSE(site.frames[1].inlined);
  EXPECT_EQ(site.frames[2].function, "libgone.so+0x1f");
  EXPECT_EQ(site.frames[3].function, "libgone.so+0x2f") << "not stored";
  EXPECT_EQ(text_of(symbolizer.names_to_store()).find("0x1f"), std::string::npos)
      << "made of the module's name";
}

} // namespace
} // namespace memtrace::symbols
