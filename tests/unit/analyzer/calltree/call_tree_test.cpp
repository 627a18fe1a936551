// Purpose: tests call trees: their sums, what they fold and what they leave out.
#include "analyzer/calltree/call_tree.h"

#include <gtest/gtest.h>

#include "analyzed.h"
#include "analyzer/calltree/shown_frames.h"
#include "analyzer/calltree/tree_lines.h"
#include "analyzer/print/text/tree_text.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

using tests::Builder;

constexpr std::int64_t kTreeMiB = 1 << 20;

HeldBlocks held_of(const ProcessAnalysis& analysis) {
  return held_at_peak(analysis, leading_peak(analysis, 0));
}

// main:3 -> work:10 holds 6 MiB itself and calls lib a (3 MiB) and lib b (1 MiB); main:4 holds 2 MiB.
void add_program(Builder& builder) {
  const std::uint32_t main3 = builder.python_frame("main", "/home/u/train.py", 3, 0);
  const std::uint32_t main4 = builder.python_frame("main", "/home/u/train.py", 4, 0);
  const std::uint32_t work = builder.python_frame("work", "/home/u/train.py", 10, main3);
  const std::uint32_t a = builder.python_frame("a", "/l/site-packages/lib/a.py", 1, work);
  const std::uint32_t b = builder.python_frame("b", "/l/site-packages/lib/b.py", 2, work);
  builder.birth(1 << 24, 6 * kTreeMiB, format::Kind::heap, 0, work);
  builder.birth(2 << 24, 3 * kTreeMiB, format::Kind::heap, 0, a);
  builder.birth(3 << 24, 1 * kTreeMiB, format::Kind::heap, 0, b);
  builder.birth(4 << 24, 2 * kTreeMiB, format::Kind::heap, 0, main4);
  builder.counters(static_cast<std::uint64_t>(kTreeMiB) / 2, 0, 10, 0); // small blocks, without stacks
}

std::vector<std::string> line_texts(const CallTree& tree, const std::vector<TreeLine>& lines) {
  std::vector<std::string> out;
  for (const TreeLine& line : lines) {
    const std::string name = line.kind == TreeLine::LineKind::call
                                 ? function_text(tree.frames.at(tree.nodes[line.node].frame))
                             : line.kind == TreeLine::LineKind::itself ? "itself"
                             : line.kind == TreeLine::LineKind::small  ? "small " + std::to_string(line.count)
                                                                       : "no stack";
    out.push_back(std::string(2 * line.depth, ' ') + name + " " + std::to_string(line.bytes * 2 / kTreeMiB));
  }
  return out;
}

std::int64_t sum_of_leaves(const std::vector<TreeLine>& lines) {
  std::int64_t sum = 0;
  for (const TreeLine& line : lines) sum += line.leaf ? line.bytes : 0;
  return sum;
}

using LineTexts = std::vector<std::string>;

TEST(CallTree, HasTheLinesOfTheProgramAndTheirSums) {
  Builder builder;
  add_program(builder);
  const tests::Analyzed program(builder);
  const HeldBlocks held = held_of(*program);
  EXPECT_EQ(held.total, program->account.peaks.at(0).live.bytes);
  const CallTree tree = call_tree(*program, held, {});
  EXPECT_EQ(tree.nodes[0].bytes, held.total);
  EXPECT_EQ(tree.no_stack_bytes, kTreeMiB / 2);
  const std::vector<TreeLine> lines = tree_lines(tree, {});
  EXPECT_EQ(line_texts(tree, lines),
            (LineTexts{"main 20", "work 20", "  a 6", "  b 2", "  itself 12", "main 4", "no stack 1"}));
  EXPECT_EQ(sum_of_leaves(lines), held.total);
}

TEST(CallTree, SmallCallsShareALineAndTheSumStays) {
  Builder builder;
  add_program(builder);
  const tests::Analyzed program(builder);
  const HeldBlocks held = held_of(*program);
  const CallTree tree = call_tree(*program, held, {});
  const std::vector<TreeLine> lines = tree_lines(tree, {.least = 4 * kTreeMiB});
  EXPECT_EQ(line_texts(tree, lines), (LineTexts{"main 20", "work 20", "no stack 1", "main 4"}));
  EXPECT_EQ(sum_of_leaves(lines), held.total);
  for (const std::size_t depth : {1u, 2u, 3u})
    EXPECT_EQ(sum_of_leaves(tree_lines(tree, {.least = kTreeMiB * 2, .depth = depth})), held.total) << depth;
  EXPECT_EQ(tree_lines(tree, {.depth = 1}).size(), 4u);
}

TEST(CallTree, BottomUpBeginsWithTheAllocation) {
  Builder builder;
  add_program(builder);
  const tests::Analyzed program(builder);
  const HeldBlocks held = held_of(*program);
  const CallTree tree = call_tree(*program, held, {.inverted = true});
  const std::vector<TreeLine> lines = tree_lines(tree, {.inverted = true});
  EXPECT_EQ(line_texts(tree, lines), (LineTexts{"work 12", "main 12", "a 6", "work 6", "main 6", "main 4",
                                                "b 2", "work 2", "main 2", "no stack 1"}));
  EXPECT_EQ(sum_of_leaves(lines), held.total);
}

TEST(CallTree, OnlyTheBlocksOfTheStacksOfAFinding) {
  Builder builder;
  const std::uint32_t main = builder.python_frame("main", "/home/u/train.py", 3, 0);
  const std::uint32_t other = builder.python_frame("other", "/home/u/train.py", 5, 0);
  builder.birth(1 << 24, 6 * kTreeMiB, format::Kind::heap, 0, main);
  builder.birth(2 << 24, 3 * kTreeMiB, format::Kind::heap, 0, other);
  const tests::Analyzed program(builder);
  const HeldBlocks held = held_by(*program, leading_peak(*program, 0), {format::StackId{main}});
  EXPECT_EQ(held.total, 6 * kTreeMiB);
  EXPECT_FALSE(held.at_end);
}

HeldBlocks made_of(std::initializer_list<HeldGroup> groups, std::int64_t total) {
  HeldBlocks out;
  out.groups = groups;
  out.total = total;
  complete(out);
  return out;
}

std::vector<std::int64_t> bytes_of_groups(const HeldBlocks& held) {
  std::vector<std::int64_t> out;
  for (const HeldGroup& group : held.groups) out.push_back(group.bytes);
  return out;
}

using GroupBytes = std::vector<std::int64_t>;

TEST(HeldBlocks, AddUpToTheTotal) {
  const HeldGroup exact{.bytes = 100, .stack = format::StackId{1}};
  const HeldGroup third{.bytes = 33, .stack = format::StackId{2}, .sampled = true};
  EXPECT_EQ(bytes_of_groups(made_of({exact, third}, 150)), (GroupBytes{100, 33, 17}))
      << "the rest has no stack";
  EXPECT_EQ(bytes_of_groups(made_of({exact, third}, 133)), (GroupBytes{100, 33}));
  const HeldBlocks reduced = made_of({exact, third, third, third}, 150);
  EXPECT_EQ(reduced.groups[0].bytes, 100) << "only estimates are reduced";
  EXPECT_EQ(reduced.reduced, 49);
  EXPECT_EQ(bytes_of_groups(reduced), (GroupBytes{100, 16, 17, 17}));
  EXPECT_EQ(bytes_of_groups(made_of({exact, third}, 50)), (GroupBytes{37, 13})) << "a trace with losses";
  EXPECT_EQ(bytes_of_groups(made_of({exact}, -5)), (GroupBytes{0}));
}

symbols::SiteFrame site_frame(std::string_view function, std::string_view file, std::string_view module) {
  symbols::SiteFrame out;
  out.function = function;
  out.file = file;
  out.module = module;
  out.python = module.empty();
  out.own = file.starts_with("/home/");
  return out;
}

std::vector<std::string> shown_names(const std::vector<symbols::SiteFrame>& frames) {
  std::vector<std::string> out;
  for (const symbols::SiteFrame* const one : shown_frames(frames)) out.push_back(function_text(*one));
  return out;
}

TEST(ShownFrames, AreTheCallsOfTheProgramAndItsOperator) {
  constexpr char kTorch[] = "/v/torch/lib/libtorch_cpu.so";
  EXPECT_EQ(shown_names({site_frame("c10::alloc_cpu(unsigned long)", "", "/v/torch/lib/libc10.so"),
                         site_frame("at::_ops::empty_memory_format::call(int)", "", kTorch),
                         site_frame("at::native::linear(int)", "", kTorch),
                         site_frame("at::_ops::linear::call(int)", "", kTorch),
                         site_frame("THPVariable_linear", "", "/v/torch/lib/libtorch_python.so"),
                         site_frame("Linear.forward", "/v/site-packages/torch/nn/modules/linear.py", ""),
                         site_frame("Module._call_impl", "/v/site-packages/torch/nn/modules/module.py", ""),
                         site_frame("PyEval_EvalCode", "", "/usr/lib/libpython3.11.so.1.0"),
                         site_frame("main", "/home/u/a.py", "")}),
            (LineTexts{"torch.linear", "Linear.forward", "main"}));
}

TEST(ShownFrames, OfAnImportOnlyTheFirstModule) {
  const std::vector<symbols::SiteFrame> frames = {
      site_frame("malloc", "", "/lib/libc.so.6"),
      site_frame("deep", "/v/site-packages/torch/deep.py", ""),
      site_frame("_load", "<frozen importlib._bootstrap>", ""),
      site_frame("<module>", "/v/site-packages/torch/__init__.py", ""),
      site_frame("_load", "<frozen importlib._bootstrap>", ""),
      site_frame("<module>", "/home/u/a.py", "")};
  EXPECT_EQ(shown_names(frames), (LineTexts{"<module>", "<module>"}));
}

TEST(ShownFrames, OneRemainsAlways) {
  EXPECT_EQ(shown_names({site_frame("malloc", "", "/lib/libc.so.6")}), (LineTexts{"malloc"}));
  EXPECT_TRUE(shown_names({}).empty());
}

TEST(TreeText, FitsTheScreenAtAnyDepthAndCannotSteerTheTerminal) {
  Builder builder;
  std::uint32_t caller = 0;
  for (std::uint32_t depth = 0; depth < 60; ++depth) {
    const std::uint32_t frame =
        builder.python_frame("a_function_with_a_long_name\x1b[2J\xff",
                             "/home/u/a/folder/with/a/long/name/train.py", depth + 1, caller);
    builder.birth((std::uint64_t{depth} + 1) << 24, kTreeMiB, format::Kind::heap, 0, frame);
    caller = frame;
  }
  tests::Analyzed program(builder);
  const HeldBlocks held = held_of(*program);
  for (const std::size_t width : {60u, 100u}) {
    Screen screen;
    screen.columns = width;
    const std::string text = tree_text(*program, held, call_tree(*program, held, {}), {}, screen);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_NE(text.find("train.py:60"), std::string::npos) << "the deepest call has its line";
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      EXPECT_LE(columns(text.substr(at, end - at)), width) << text.substr(at, end - at);
      at = end + 1;
    }
  }
}

} // namespace
} // namespace memtrace::report
