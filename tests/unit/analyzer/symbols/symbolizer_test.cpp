// Purpose: names of frames: this program's own functions, by build id, and titles of sites.
#include "analyzer/symbols/symbolizer.h"

#include <gtest/gtest.h>

#include "analyzer/symbols/demangle.h"
#include "analyzer/trace/trace.h"
#include "builder.h"
#include "own_module.h"

// Named as PyTorch names it: every tensor of a device passes it.
namespace c10::cuda::CUDACachingAllocator {
__attribute__((noinline, used)) int alloc_found_block(int x) {
  asm volatile("" ::: "memory");
  return x + 5;
}
} // namespace c10::cuda::CUDACachingAllocator

namespace at::_ops {
struct pow_Tensor_Scalar {
  __attribute__((noinline, used)) static int call(int x) {
    asm volatile("" ::: "memory");
    return x + 6;
  }
};
struct mul_Tensor {
  __attribute__((noinline, used)) static int call(int x) {
    asm volatile("" ::: "memory");
    return x + 7;
  }
};
} // namespace at::_ops

namespace memtrace::symbols {

// Found by name in this test's symbol table.
constexpr std::uint32_t kFirstLine = __LINE__ + 1;
__attribute__((noinline)) int a_function_to_find(int x) {
  asm volatile("" ::: "memory");
  return x + 1;
}

namespace {
struct Calls {
  __attribute__((noinline, used)) static int outer(int x) {
    asm volatile("" ::: "memory");
    return x + 8;
  }
};
} // namespace

// Functions of C whose names mean types where they are taken for mangled ones.
extern "C" {
int named_i(int x) asm("i");
int named_f(int x) asm("f");
int named_w(int x) asm("w");
__attribute__((noinline)) int named_i(int x) {
  asm volatile("" ::: "memory");
  return x + 2;
}
__attribute__((noinline)) int named_f(int x) {
  asm volatile("" ::: "memory");
  return x + 3;
}
__attribute__((noinline)) int named_w(int x) {
  asm volatile("" ::: "memory");
  return x + 4;
}
}

namespace {

using tests::Builder;
using tests::own_module;
using tests::OwnModule;
using tests::Scratch;

class Symbols : public testing::Test {
 protected:
  // Opens what was built; the symbolizer points into it.
  Symbolizer& open() {
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes());
    trace_ = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    symbolizer_ = std::make_unique<Symbolizer>(trace_->definitions(), trace_->facts());
    return *symbolizer_;
  }
  // The stack of a call from a function of this program, in a module with this build id.
  std::uint32_t own_frame(const std::vector<std::uint8_t>& build_id, int (*function)(int) = &a_function_to_find,
                          std::uint32_t caller = 0) {
    const OwnModule me = own_module();
    const auto address = reinterpret_cast<std::uint64_t>(function);
    builder.module("/proc/self/exe", me.bias, address & ~std::uint64_t{4095}, 2, build_id);
    return builder.native_frame(address + 1, caller); // as if the function's first byte were a call
  }
  const trace::Trace& trace() const { return *trace_; }
  Builder builder;

 private:
  Scratch scratch_;
  std::unique_ptr<trace::Trace> trace_;
  std::unique_ptr<Symbolizer> symbolizer_;
};

TEST_F(Symbols, AreFoundByAddressAndBuildId) {
  ASSERT_FALSE(own_module().build_id.empty());
  const std::uint32_t stack = own_frame(own_module().build_id);
  const Site& site = open().site(format::StackId{stack});
  ASSERT_EQ(site.frames.size(), 1u);
  EXPECT_EQ(site.frames[0].function, "memtrace::symbols::a_function_to_find(int)");
  EXPECT_TRUE(site.frames[0].file.ends_with("/symbolizer_test.cpp")) << site.frames[0].file;
  EXPECT_GE(site.frames[0].line, kFirstLine);
  EXPECT_LE(site.frames[0].line, kFirstLine + 3);
  EXPECT_EQ(site.where, "memtrace::symbols::a_function_to_find at symbols/symbolizer_test.cpp:" +
                            std::to_string(site.frames[0].line));
}

TEST_F(Symbols, InAnUnnamedNamespaceKeepTheirNames) {
  const std::uint32_t stack = own_frame(own_module().build_id, &Calls::outer);
  const std::string where = open().site(format::StackId{stack}).where;
  EXPECT_TRUE(where.starts_with("memtrace::symbols::(anonymous namespace)::Calls::outer at ")) << where;
}

TEST_F(Symbols, OfAFileThatTwoProcessesLoadedAreReadOnce) {
  const std::vector<std::uint8_t> id = own_module().build_id;
  own_frame(id, &a_function_to_find, own_frame(id, &named_w));
  open();
  const auto code = std::make_shared<CodeFiles>();
  const StoredNames first = Symbolizer(trace().definitions(), trace().facts(), {}, code).names_to_store();
  EXPECT_EQ(code->lookups(), 2u);
  const StoredNames second = Symbolizer(trace().definitions(), trace().facts(), {}, code).names_to_store();
  EXPECT_EQ(first.natives.size(), 2u);
  EXPECT_EQ(text_of(second), text_of(first));
  EXPECT_EQ(code->opened(), 1u);
  EXPECT_EQ(code->lookups(), 2u);
}

TEST_F(Symbols, OfTheAllocatorOfDevicesSayNothing) {
  const std::vector<std::uint8_t> id = own_module().build_id;
  const std::uint32_t stack =
      own_frame(id, &c10::cuda::CUDACachingAllocator::alloc_found_block, own_frame(id, &named_w));
  const std::string where = open().site(format::StackId{stack}).where;
  EXPECT_TRUE(where.starts_with("w at ")) << where;
}

TEST_F(Symbols, InBackwardTheForwardCallIsNamed) {
  const std::vector<std::uint8_t> id = own_module().build_id;
  const std::uint32_t line = builder.python_frame("forward", "/home/u/model.py", 12, 0);
  const std::uint32_t forward = own_frame(id, &at::_ops::pow_Tensor_Scalar::call, line);
  const std::uint32_t marker = builder.native_frame(format::kForwardCall, forward);
  const std::uint32_t stack = own_frame(id, &at::_ops::mul_Tensor::call, own_frame(id, &named_w, marker));
  Symbolizer& symbolizer = open();
  const Site& site = symbolizer.site(format::StackId{stack});
  EXPECT_EQ(site.op, "backward of torch.pow");
  EXPECT_EQ(site.own_line, "model.py:12");
  EXPECT_EQ(symbolizer.site(format::StackId{forward}).op, "torch.pow");
}

TEST_F(Symbols, OfCAreNotDemangled) {
  const std::vector<std::uint8_t> id = own_module().build_id;
  const std::uint32_t i = own_frame(id, &named_i), f = own_frame(id, &named_f), w = own_frame(id, &named_w);
  Symbolizer& symbolizer = open();
  EXPECT_EQ(symbolizer.site(format::StackId{i}).frames[0].function, "i");
  EXPECT_EQ(symbolizer.site(format::StackId{f}).frames[0].function, "f");
  EXPECT_EQ(symbolizer.site(format::StackId{w}).frames[0].function, "w");
}

TEST(Demangle, NamesOfCxxAndRust) {
  EXPECT_EQ(demangle("_ZN2at4_ops7add_out4callERKNS_6TensorE"), "at::_ops::add_out::call(at::Tensor const&)");
  EXPECT_EQ(demangle("_RNvNtCs1234_7mycrate3foo3bar"), "mycrate::foo::bar");
  EXPECT_EQ(demangle("_RNvC6_123foo3bar"), "123foo::bar") << "an example of RFC 2603";
  EXPECT_EQ(demangle("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
  EXPECT_EQ(demangle("_Zonk"), "_Zonk");
  EXPECT_EQ(demangle("_Reset"), "_Reset");
  EXPECT_EQ(demangle("i"), "i");
}

TEST_F(Symbols, OfAnotherBuildAreNotUsed) {
  std::vector<std::uint8_t> other = own_module().build_id;
  other[0] = static_cast<std::uint8_t>(other[0] ^ 1);
  const std::uint32_t stack = own_frame(other);
  EXPECT_EQ(open().site(format::StackId{stack}).frames[0].function.rfind("exe+0x", 0), 0u);
}

TEST_F(Symbols, OfAFileThatIsGoneOrNoObjectAreOffsets) {
  builder.module("/nonexistent/lib.so", 0x10000, 0x10000, 4, {});
  builder.module("/etc/passwd", 0x20000, 0x20000, 4, {});
  const std::uint32_t gone = builder.native_frame(0x10101, 0);
  const std::uint32_t text = builder.native_frame(0x20101, 0);
  const std::uint32_t nowhere = builder.native_frame(0x99999, 0);
  Symbolizer& symbolizer = open();
  EXPECT_EQ(symbolizer.site(format::StackId{gone}).frames[0].function, "lib.so+0x100");
  EXPECT_EQ(symbolizer.site(format::StackId{text}).frames[0].function, "passwd+0x100");
  EXPECT_EQ(symbolizer.site(format::StackId{nowhere}).frames[0].function, "0x99998");
}

TEST_F(Symbols, ASiteIsNamedByTheFrameThatTells) {
  const std::string torch = "/v/lib/python3.11/site-packages/torch/";
  std::uint32_t stack = builder.python_frame("main", "/home/u/train.py", 12, 0);
  const std::uint32_t optimizer = builder.python_frame("step", torch + "optim/adam.py", 790, stack);
  const std::uint32_t backward = builder.python_frame("_engine", torch + "autograd/graph.py", 979, stack);
  Symbolizer& symbolizer = open();
  const Site& step = symbolizer.site(format::StackId{optimizer});
  EXPECT_EQ(step.title(), "torch/optim/adam.py:790");
  EXPECT_EQ(step.caller, "train.py:12");
  EXPECT_EQ(symbolizer.site(format::StackId{backward}).title(), "train.py:12");
  EXPECT_EQ(step.id.size(), 16u);
  EXPECT_NE(step.id, symbolizer.site(format::StackId{backward}).id);
}

TEST_F(Symbols, APassIsNamedByTheCallOfTheOutermostModule) {
  const std::string torch = "/v/lib/python3.11/site-packages/torch/";
  const std::uint32_t call = builder.python_frame("evaluate", "/home/u/train.py", 17, 0);
  std::uint32_t stack = builder.python_frame("_call_impl", torch + "nn/modules/module.py", 1790, call);
  stack = builder.python_frame("forward", "/home/u/train.py", 10, stack);
  stack = builder.python_frame("_call_impl", torch + "nn/modules/module.py", 1790, stack);
  stack = builder.python_frame("forward", "/home/u/layer.py", 5, stack);
  Symbolizer& symbolizer = open();
  EXPECT_EQ(symbolizer.site(format::StackId{stack}).own_line, "layer.py:5");
  EXPECT_EQ(symbolizer.site(format::StackId{stack}).pass_line, "train.py:17");
  EXPECT_EQ(symbolizer.site(format::StackId{call}).pass_line, "") << "no module was called";
}

// torch imports sympy, and an optimizer that the user made imports more: the import is the user's, or the
// library's call below which it is.
TEST_F(Symbols, AnImportIsNamedByTheFirstPackage) {
  const std::string packages = "/v/lib/python3.11/site-packages/";
  const auto import_of = [&](const std::string& file, std::uint32_t below) {
    below = builder.python_frame("_find_and_load", "<frozen importlib._bootstrap>", 1176, below);
    below = builder.python_frame("exec_module", "<frozen importlib._bootstrap_external>", 940, below);
    return builder.python_frame("<module>", file, 12, below);
  };
  const std::uint32_t own = builder.python_frame("main", "/home/u/train.py", 3, 0);
  const std::uint32_t sympy =
      import_of(packages + "sympy/core/expr.py", import_of(packages + "torch/__init__.py", own));
  const std::uint32_t optimizer = builder.python_frame("__init__", packages + "torch/optim/adam.py", 90, own);
  const std::uint32_t lazy = import_of(packages + "sympy/core/expr.py", optimizer);
  const std::uint32_t native =
      builder.python_frame("_find_and_load", "<frozen importlib._bootstrap>", 1176, own);
  const std::uint32_t users =
      builder.python_frame("table", "/home/u/data.py", 5, import_of("/home/u/data.py", own));
  Symbolizer& symbolizer = open();
  EXPECT_EQ(symbolizer.site(format::StackId{sympy}).import, "import of torch");
  EXPECT_EQ(symbolizer.site(format::StackId{lazy}).import, "import of sympy");
  EXPECT_EQ(symbolizer.site(format::StackId{native}).import, "import");
  EXPECT_EQ(symbolizer.site(format::StackId{users}).import, "") << "the user's own module made the block";
  EXPECT_EQ(symbolizer.site(format::StackId{optimizer}).import, "");
}

TEST(Paths, AreShortened) {
  EXPECT_EQ(short_path("/v/lib/python3.11/site-packages/torch/a.py", "/home/u"), "torch/a.py");
  EXPECT_EQ(short_path("/usr/lib/python3/dist-packages/yaml/a.py", ""), "yaml/a.py");
  EXPECT_EQ(short_path("/usr/lib/python3.11/json/decoder.py", ""), "json/decoder.py");
  EXPECT_EQ(short_path("/home/u/src/a.py", "/home/u"), "src/a.py");
  EXPECT_EQ(short_path("/home/us/src/a.py", "/home/u"), "src/a.py");
  EXPECT_EQ(short_path("a.py", "/home/u"), "a.py");
  EXPECT_EQ(short_path("/a.py", "/"), "/a.py");
  EXPECT_EQ(short_path("", ""), "");
}

} // namespace
} // namespace memtrace::symbols
