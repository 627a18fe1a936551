// Purpose: each opcode of a pickle, and pickles made to harm.
#include "analyzer/snapshot/pickle_reader.h"

#include <gtest/gtest.h>

#include "analyzer/decode/read_error.h"

namespace memtrace::snapshot {
namespace {

using namespace std::string_literals;

const std::string kStart = "\x80\x04";

PickleTree read(const std::string& opcodes, const std::string& start = kStart) {
  return PickleReader("a.pickle", start + opcodes + ".").read();
}

// Returns the message without the name of the file.
std::string refusal(const std::string& opcodes, const std::string& start = kStart) {
  try {
    PickleReader("a.pickle", start + opcodes).read();
  } catch (const trace::ReadError& error) {
    return std::string(error.what()).substr(sizeof "a.pickle: " - 1);
  }
  return "";
}

// Returns the value in the form of Python.
std::string shown(const PickleTree& tree, PickleValue value) {
  switch (value.type()) {
    case PickleType::none:
      return "None";
    case PickleType::boolean:
      return *tree.boolean(value) ? "True" : "False";
    case PickleType::integer:
      return tree.number(value) ? std::to_string(*tree.number(value)) : "negative";
    case PickleType::real:
      return "float";
    case PickleType::text:
      return "'" + std::string(tree.text(value)) + "'";
    case PickleType::bytes:
      return "bytes";
    case PickleType::list: {
      std::string out;
      for (const PickleValue item : tree.items(value)) out += (out.empty() ? "" : ", ") + shown(tree, item);
      return "[" + out + "]";
    }
    case PickleType::dict: {
      std::string out;
      const PickleTree::Items& items = tree.items(value);
      for (std::size_t i = 0; i < items.size(); i += 2)
        out += (out.empty() ? "" : ", ") + shown(tree, items[i]) + ": " + shown(tree, items[i + 1]);
      return "{" + out + "}";
    }
  }
  return "?";
}

std::string root(const std::string& opcodes) {
  const PickleTree tree = read(opcodes);
  return shown(tree, tree.root());
}

TEST(PickleReader, Scalars) {
  EXPECT_EQ(root("N"), "None");
  EXPECT_EQ(root("\x88"), "True");
  EXPECT_EQ(root("\x89"), "False");
  EXPECT_EQ(root("K\xFF"), "255");
  EXPECT_EQ(root("M\x01\x02"), "513");
  EXPECT_EQ(root("J\x01\x02\x03\x04"), "67305985");
  EXPECT_EQ(root("J\xFF\xFF\xFF\xFF"), "negative");
  EXPECT_EQ(root("G\x40\x09\x21\xFB\x54\x44\x2D\x18"), "float");
  EXPECT_EQ(root("\x95\x01\0\0\0\0\0\0\0N"s), "None"); // FRAME
}

TEST(PickleReader, LongIntegers) {
  EXPECT_EQ(root("\x8a\0"s), "0");
  EXPECT_EQ(root("\x8a\x01\x7F"), "127");
  EXPECT_EQ(root("\x8a\x01\x80"), "negative");
  EXPECT_EQ(root("\x8a\x02\x80\0"s), "128");
  EXPECT_EQ(root("\x8a\x06\0\0\0\x10\x40\x7F"s), "139913123069952");
  EXPECT_EQ(root("\x8a\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"), "9223372036854775807");
  EXPECT_EQ(root("\x8b\x02\0\0\0\x80\0"s), "128");
  EXPECT_EQ(refusal("\x8a\x09\0\0\0\0\0\0\0\0\x01."s), "at byte 2: expected integers of at most 64 bits");
}

TEST(PickleReader, Texts) {
  EXPECT_EQ(root("\x8c\x02hi"), "'hi'");
  EXPECT_EQ(root("X\x02\0\0\0hi"s), "'hi'");
  EXPECT_EQ(root("\x8d\x02\0\0\0\0\0\0\0hi"s), "'hi'");
  EXPECT_EQ(root("U\x02hi"), "'hi'"); // of Python 2
  EXPECT_EQ(root("T\x02\0\0\0hi"s), "'hi'");
  EXPECT_EQ(root("C\x02hi"), "bytes");
  EXPECT_EQ(root("B\x02\0\0\0hi"s), "bytes");
  EXPECT_EQ(root("\x8e\x02\0\0\0\0\0\0\0hi"s), "bytes");
  EXPECT_EQ(root("\x96\x02\0\0\0\0\0\0\0hi"s), "bytes"); // a bytearray
}

TEST(PickleReader, Containers) {
  EXPECT_EQ(root("]"), "[]");
  EXPECT_EQ(root(")"), "[]");
  EXPECT_EQ(root("}"), "{}");
  EXPECT_EQ(root("\x8f"), "[]");
  EXPECT_EQ(root("]K\x01"s + "a"), "[1]");
  EXPECT_EQ(root("](K\x01K\x02"s + "e"), "[1, 2]");
  EXPECT_EQ(root("](K\x01K\x02"s + "eK\x03"s + "a"), "[1, 2, 3]");
  EXPECT_EQ(root("(K\x01K\x02l"), "[1, 2]");
  EXPECT_EQ(root("(K\x01K\x02t"), "[1, 2]");
  EXPECT_EQ(root("(K\x01\x91"), "[1]");
  EXPECT_EQ(root("\x8f(K\x01\x90"), "[1]");
  EXPECT_EQ(root("K\x01\x85"), "[1]");
  EXPECT_EQ(root("K\x01K\x02\x86"), "[1, 2]");
  EXPECT_EQ(root("K\x01K\x02K\x03\x87"), "[1, 2, 3]");
  EXPECT_EQ(root("}\x8c\x01xK\x01s"), "{'x': 1}");
  EXPECT_EQ(root("}(\x8c\x01xK\x01\x8c\x01yK\x02u"), "{'x': 1, 'y': 2}");
  EXPECT_EQ(root("(\x8c\x01xK\x01"s + "d"), "{'x': 1}");
  EXPECT_EQ(root("]}\x8c\x01x]s"s + "a"), "[{'x': []}]");
}

TEST(PickleReader, RememberedValuesAreShared) {
  EXPECT_EQ(root("](\x8c\x01x\x94h\0e"s), "['x', 'x']");
  EXPECT_EQ(root("](\x8c\x01xq\x05h\x05"s + "e"), "['x', 'x']");
  EXPECT_EQ(root("](\x8c\x01xr\x05\0\0\0j\x05\0\0\0e"s), "['x', 'x']");
  EXPECT_EQ(root("](K\x01"s + "2e"), "[1, 1]");    // DUP
  EXPECT_EQ(root("](K\x01K\x02"s + "0e"), "[1]");  // POP
  EXPECT_EQ(root("K\x01(K\x02K\x03"s + "1"), "1"); // POP_MARK
  EXPECT_EQ(root("K\x01("s + "0"), "1");           // POP of a mark
  // A list that is changed after it was remembered is changed everywhere.
  EXPECT_EQ(root("](]\x94h\0K\x07"s + "ae"), "[[7], [7]]");
}

TEST(PickleReader, AllProtocols) {
  for (char protocol = 2; protocol <= 5; ++protocol) {
    const std::string start = "\x80"s + protocol;
    EXPECT_TRUE(begins_as_pickle(start));
    const PickleTree tree = read("K\x07", start);
    EXPECT_EQ(tree.number(tree.root()), 7u);
  }
  for (const std::string& start : {"\x80\x01"s, "\x80\x06"s, "(l"s, "\x80"s, ""s})
    EXPECT_FALSE(begins_as_pickle(start)) << start.size();
  EXPECT_EQ(refusal("N.", "\x80\x06"), "at byte 0: expected a pickle of protocol 2 to 5");
}

TEST(PickleReader, RefusesObjects) {
  const std::string no = ", which memtrace does not load";
  const std::string object = ": expected values only, but the pickle holds an object of class ";
  EXPECT_EQ(refusal("cos\nsystem\n."), "at byte 2" + object + "os.system" + no);
  EXPECT_EQ(refusal("\x8c\x02os\x8c\x06system\x93."), "at byte 14" + object + "os.system" + no);
  EXPECT_EQ(refusal("(ios\nsystem\n."), "at byte 3" + object + "os.system" + no);
  EXPECT_NE(refusal("NN\x93.").find(object), std::string::npos);
  for (const char* opcode : {"R", "b", "o", "\x81", "\x92", "\x82\x01", "\x83\x01\x01", "\x84\x01\x01\x01\x01",
                             "Pname\n", "Q", "\x97", "\x98"})
    EXPECT_NE(refusal("N)"s + opcode + ".").find(object), std::string::npos) << opcode;
}

TEST(PickleReader, RefusesDamage) {
  for (const std::string& opcodes : {"."s,
                                     "a."s,
                                     "s."s,
                                     "]a."s,
                                     "]s."s,
                                     "e."s,
                                     "u."s,
                                     "](K\x01u."s,
                                     "}(K\x01u."s,
                                     "}K\x01s."s,
                                     "K\x01\x86."s,
                                     "K\x01(\x85."s,
                                     "K\x01(a."s,
                                     "(K\x01"s + "d."s,
                                     "0."s,
                                     "1."s,
                                     "2."s,
                                     "\x94."s,
                                     "h\0."s,
                                     "](e("s + "h\x01."s,
                                     "q\x01."s,
                                     "I1\n."s,
                                     "L1L\n."s,
                                     "F1\n."s,
                                     "\xFF."s,
                                     "Nr\xFF\xFF\xFF\xFF."s,
                                     "Nj\xFF\xFF\xFF\xFF."s,
                                     "X\xFF\xFF\xFF\xFFhi."s,
                                     "\x8d\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFFhi."s,
                                     "\x8b\xFF\xFF\xFF\xFF\x01."s,
                                     "cos"s,
                                     ""s})
    EXPECT_NE(refusal(opcodes), "") << opcodes;
}

TEST(PickleReader, EachPieceOfAFileIsRefused) {
  const std::string whole = kStart +
                            "\x95\x10\0\0\0\0\0\0\0}\x94(\x8c\x01x\x94](K\x01\x8a\x02\x80\0G\0\0\0\0\0\0\0\0"
                            "eX\x02\0\0\0hih\x01\x85u."s;
  EXPECT_NO_THROW(PickleReader("a.pickle", whole).read());
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_THROW(PickleReader("a.pickle", whole.substr(0, bytes)).read(), trace::ReadError) << bytes;
}

TEST(PickleReader, DeepNestingNeedsNoRecursion) {
  constexpr std::size_t kDeep = 1'000'000;
  const PickleTree tree = read(std::string(kDeep, ']') + std::string(kDeep - 1, 'a'));
  PickleValue value = tree.root();
  std::size_t depth = 1;
  for (; !tree.items(value).empty(); ++depth) value = tree.items(value)[0];
  EXPECT_EQ(depth, kDeep);
}

// 40 lists, each with the one before it twice: 2^40 values if they were copied.
TEST(PickleReader, SharedListsAreNotCopied) {
  std::string opcodes = "]\x94";
  for (char i = 0; i < 40; ++i) opcodes += "](h"s + i + "h"s + i + "e\x94"s;
  const PickleTree tree = read(opcodes);
  EXPECT_EQ(tree.items(tree.root()).size(), 2u);
  EXPECT_EQ(tree.items(tree.root())[0], tree.items(tree.root())[1]);
}

} // namespace
} // namespace memtrace::snapshot
